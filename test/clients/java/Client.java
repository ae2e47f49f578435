import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The client of fabric8 in the roles of client-program.ts; its watches are WebSockets. Arguments: informer NAMESPACE |
 * elect NAMESPACE NAME IDENTITY | apply NAMESPACE.
 */
public final class Client {
  public static void main(String[] arguments) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      switch (arguments[0]) {
        case "informer" -> inform(client, arguments[1]);
        case "elect" -> elect(client, arguments[1], arguments[2], arguments[3]);
        case "apply" -> apply(client, arguments[1]);
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }
    // The threads of the client would keep the program.
    System.exit(0);
  }

  private static void inform(KubernetesClient client, String namespace) throws Exception {
    var informer = client.configMaps().inNamespace(namespace).withLabel("seen", "yes").runnableInformer(0);
    informer.exceptionHandler((isStarted, error) -> true);
    informer.addEventHandler(new ResourceEventHandler<ConfigMap>() {
      @Override
      public void onAdd(ConfigMap added) {
        say("event", "add", "name", added.getMetadata().getName(), "n", n(added));
      }

      @Override
      public void onUpdate(ConfigMap before, ConfigMap after) {
        String version = after.getMetadata().getResourceVersion();
        // A list after a cut reports what has not changed, too.
        if (Objects.equals(before.getMetadata().getResourceVersion(), version)) return;
        say("event", "update", "name", after.getMetadata().getName(), "n", n(after));
      }

      @Override
      public void onDelete(ConfigMap deleted, boolean isStateUnknown) {
        say("event", "delete", "name", deleted.getMetadata().getName(), "n", n(deleted));
      }
    });
    informer.start().toCompletableFuture().get();
    say("event", "synced");
    System.in.readAllBytes();
    Map<String, String> objects = new TreeMap<>();
    for (ConfigMap map : informer.getIndexer().list()) objects.put(map.getMetadata().getName(), n(map));
    say("event", "cache", "objects", objects);
  }

  private static String n(ConfigMap map) {
    return map.getData() == null ? "" : map.getData().getOrDefault("n", "");
  }

  private static void elect(KubernetesClient client, String namespace, String name, String identity)
      throws Exception {
    var settings = new LeaderElectionConfigBuilder()
        .withName(name)
        .withLock(new LeaseLock(namespace, name, identity))
        .withLeaseDuration(Duration.ofSeconds(3))
        .withRenewDeadline(Duration.ofSeconds(2))
        .withRetryPeriod(Duration.ofMillis(500))
        .withLeaderCallbacks(new LeaderCallbacks(
            () -> say("event", "leading"), () -> say("event", "stopped"), leader -> {}))
        .build();
    client.leaderElector().withConfig(settings).build().start();
    System.in.readAllBytes();
  }

  private static void apply(KubernetesClient client, String namespace) {
    send(client, namespace, "create", "one", Map.of("a", "1", "b", "1"), false);
    send(client, namespace, "conflict", "two", Map.of("a", "2"), false);
    send(client, namespace, "force", "two", Map.of("a", "2"), true);
    send(client, namespace, "drop", "one", Map.of("c", "3"), false);
  }

  private static void send(
      KubernetesClient client, String namespace, String step, String manager, Map<String, String> data, boolean force) {
    ConfigMap map = new ConfigMapBuilder()
        .withNewMetadata().withName("applied").withNamespace(namespace).endMetadata()
        .withData(data)
        .build();
    try {
      var request = client.resource(map).fieldManager(manager);
      ConfigMap found = force ? request.forceConflicts().serverSideApply() : request.serverSideApply();
      List<String> managers = found.getMetadata().getManagedFields().stream()
          .map(entry -> entry.getManager() + " " + entry.getOperation())
          .sorted()
          .toList();
      say("event", "applied", "step", step, "data", new TreeMap<>(found.getData()), "managers", managers);
    } catch (KubernetesClientException error) {
      say("event", "refused", "step", step, "code", error.getCode(), "reason", error.getStatus().getReason());
    }
  }

  /** Prints names and values, one after the other, as a line of JSON. */
  private static synchronized void say(Object... fields) {
    Map<String, Object> line = new LinkedHashMap<>();
    for (int i = 0; i < fields.length; i += 2) line.put((String) fields[i], fields[i + 1]);
    System.out.println(Serialization.asJson(line));
  }
}
