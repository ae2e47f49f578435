"""The official Python client in the roles of client-program.ts. Arguments: informer NAMESPACE | elect NAMESPACE NAME IDENTITY | apply NAMESPACE."""
import datetime
import json
import os
import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord

config.load_kube_config()
core = client.CoreV1Api()


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def informer(namespace):
    """List and watch with resume, as the client's own docs show it; a 410 lists anew."""
    objects = {}

    def tell(event, item):
        name, n = item.metadata.name, (item.data or {}).get("n", "")
        if event == "delete":
            objects.pop(name, None)
        else:
            objects[name] = n
        say(event=event, name=name, n=n)

    def follow():
        version, synced = None, False
        while True:
            try:
                if version is None:
                    listed = core.list_namespaced_config_map(namespace, label_selector="seen=yes")
                    names = {item.metadata.name for item in listed.items}
                    for gone in [name for name in objects if name not in names]:
                        objects.pop(gone)
                        say(event="delete", name=gone, n="")
                    for item in listed.items:
                        n = (item.data or {}).get("n", "")
                        if objects.get(item.metadata.name) != n:
                            tell("update" if item.metadata.name in objects else "add", item)
                    version = listed.metadata.resource_version
                    if not synced:
                        synced = True
                        say(event="synced")
                stream = watch.Watch()
                for event in stream.stream(core.list_namespaced_config_map, namespace, label_selector="seen=yes", resource_version=version, timeout_seconds=3):
                    version = event["object"].metadata.resource_version
                    tell({"ADDED": "add", "MODIFIED": "update", "DELETED": "delete"}[event["type"]], event["object"])
            except ApiException as error:
                if error.status == 410:
                    version = None
                else:
                    raise
            except Exception as error:  # the connection was cut
                say(event="cut", text=type(error).__name__)
                time.sleep(0.05)

    threading.Thread(target=follow, daemon=True).start()
    sys.stdin.read()
    say(event="cache", objects=objects)


class LeaseLock:
    """A lock of the client's leader election on a Lease; the client brings one on ConfigMaps only."""

    def __init__(self, name, namespace, identity):
        self.name, self.namespace, self.identity = name, namespace, identity
        self.leases = client.CoordinationV1Api()
        self.lease = None

    def get(self, name, namespace):
        try:
            self.lease = self.leases.read_namespaced_lease(name, namespace)
        except ApiException as error:
            return False, error
        spec = self.lease.spec
        return True, LeaderElectionRecord(spec.holder_identity, str(spec.lease_duration_seconds), self.text(spec.acquire_time), self.text(spec.renew_time))

    def create(self, name, namespace, election_record):
        body = client.V1Lease(metadata=client.V1ObjectMeta(name=name), spec=self.spec(election_record))
        return self.succeeds(lambda: self.leases.create_namespaced_lease(namespace, body))

    def update(self, name, namespace, updated_record):
        self.lease.spec = self.spec(updated_record)
        return self.succeeds(lambda: self.leases.replace_namespaced_lease(name, namespace, self.lease))

    @staticmethod
    def succeeds(request):
        try:
            request()
            return True
        except ApiException:
            return False

    @staticmethod
    def text(moment):
        return str(moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)) if moment else ""

    @staticmethod
    def spec(record):
        def moment(text):
            return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)

        return client.V1LeaseSpec(
            holder_identity=record.holder_identity, lease_duration_seconds=int(float(record.lease_duration)), acquire_time=moment(record.acquire_time), renew_time=moment(record.renew_time)
        )


def elect(namespace, name, identity):
    lock = LeaseLock(name, namespace, identity)
    settings = electionconfig.Config(lock, lease_duration=3, renew_deadline=2, retry_period=1, onstarted_leading=lambda: say(event="leading"), onstopped_leading=lambda: say(event="stopped"))
    threading.Thread(target=lambda: leaderelection.LeaderElection(settings).run(), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


def apply(namespace):
    maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")

    def send(step, manager, data, force):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        try:
            found = maps.server_side_apply(body=body, name="applied", namespace=namespace, field_manager=manager, force_conflicts=force).to_dict()
            managers = sorted(f"{entry['manager']} {entry['operation']}" for entry in found["metadata"].get("managedFields", []))
            say(event="applied", step=step, data=found.get("data", {}), managers=managers)
        except dynamic.exceptions.DynamicApiError as error:
            say(event="refused", step=step, code=error.status, reason=json.loads(error.body)["reason"])

    send("create", "one", {"a": "1", "b": "1"}, False)
    send("conflict", "two", {"a": "2"}, False)
    send("force", "two", {"a": "2"}, True)
    send("drop", "one", {"c": "3"}, False)


{"informer": informer, "elect": elect, "apply": apply}[sys.argv[1]](*sys.argv[2:])
