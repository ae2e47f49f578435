// client-go in the roles of client-program.ts. Arguments: informer NAMESPACE | elect NAMESPACE NAME IDENTITY | apply NAMESPACE.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var saying sync.Mutex

func say(line map[string]any) {
	saying.Lock()
	defer saying.Unlock()
	must(json.NewEncoder(os.Stdout).Encode(line))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	// Protobuf is what controllers written in Go speak.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	clients := kubernetes.NewForConfigOrDie(config)
	ctx, stop := context.WithCancel(context.Background())
	switch role, namespace := os.Args[1], os.Args[2]; role {
	case "informer":
		informer(ctx, clients, namespace)
	case "elect":
		go elect(ctx, clients, namespace, os.Args[3], os.Args[4])
		_, _ = io.ReadAll(os.Stdin)
	default:
		apply(ctx, clients, namespace)
	}
	stop()
}

func informer(ctx context.Context, clients kubernetes.Interface, namespace string) {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "seen=yes" }))
	maps := factory.Core().V1().ConfigMaps()
	tell := func(event string, object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		configMap := object.(*corev1.ConfigMap)
		say(map[string]any{"event": event, "name": configMap.Name, "n": configMap.Data["n"]})
	}
	_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { tell("add", object) },
		UpdateFunc: func(old, object any) {
			// After a relist the informer tells of objects that did not change, too.
			if old.(*corev1.ConfigMap).ResourceVersion != object.(*corev1.ConfigMap).ResourceVersion {
				tell("update", object)
			}
		},
		DeleteFunc: func(object any) { tell("delete", object) },
	})
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	say(map[string]any{"event": "synced"})
	_, _ = io.ReadAll(os.Stdin)
	objects := map[string]string{}
	for _, object := range maps.Informer().GetStore().List() {
		configMap := object.(*corev1.ConfigMap)
		objects[configMap.Name] = configMap.Data["n"]
	}
	say(map[string]any{"event": "cache", "objects": objects})
}

func elect(ctx context.Context, clients kubernetes.Interface, namespace, name, identity string) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: 3 * time.Second,
		RenewDeadline: 2 * time.Second,
		RetryPeriod:   500 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say(map[string]any{"event": "leading"}) },
			OnStoppedLeading: func() { say(map[string]any{"event": "stopped"}) },
		},
	})
}

func apply(ctx context.Context, clients kubernetes.Interface, namespace string) {
	send := func(step, manager string, data map[string]string, force bool) {
		wanted := applycorev1.ConfigMap("applied", namespace).WithData(data)
		found, err := clients.CoreV1().ConfigMaps(namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager, Force: force})
		if status, ok := err.(*apierrors.StatusError); ok {
			say(map[string]any{"event": "refused", "step": step, "code": status.ErrStatus.Code, "reason": status.ErrStatus.Reason})
			return
		}
		must(err)
		managers := []string{}
		for _, entry := range found.ManagedFields {
			managers = append(managers, entry.Manager+" "+string(entry.Operation))
		}
		sort.Strings(managers)
		say(map[string]any{"event": "applied", "step": step, "data": found.Data, "managers": managers})
	}
	send("create", "one", map[string]string{"a": "1", "b": "1"}, false)
	send("conflict", "two", map[string]string{"a": "2"}, false)
	send("force", "two", map[string]string{"a": "2"}, true)
	send("drop", "one", map[string]string{"c": "3"}, false)
}
