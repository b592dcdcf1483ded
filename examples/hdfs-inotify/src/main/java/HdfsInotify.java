import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.nats.client.Connection;
import io.nats.client.ConnectionListener.Events;
import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.Subscription;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DFSInotifyEventInputStream;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.inotify.Event;
import org.apache.hadoop.hdfs.inotify.EventBatch;
import org.apache.hadoop.hdfs.inotify.MissingEventsException;

/**
 * Reports what changes in HDFS, as its name node tells of it (inotify), to live migrations from there: {@code HdfsInotify
 * <source> <position file> [hdfs://name-node:8020]}, with an API token in GANTRY_TOKEN, as a superuser of the cluster. It is
 * an extension like any other (docs/PROTOCOL.md) and shows how far it is at its endpoint {@code status}.
 *
 * <p>The position file has the transaction up to which all is reported. It is written when the platform has said that it has
 * stored the report, so that a kill at any moment reports some changes twice and loses none. What the name node no longer
 * knows is reported as a change of the root, for which migrations compare everything.
 */
public class HdfsInotify {
  static final String prefix = "hdfs-inotify";
  static final String instance = prefix + "-" + ProcessHandle.current().pid();
  /** A report has at most 1,000 changes, and a batch of events has few. */
  static final int maxChanges = 900;
  /** How long an event waits for others that go into the same report. */
  static final long gatherMs = 50;
  /** Silence for a minute is a lag. */
  static final long quietMs = 10_000;
  static final long retryMs = 1_000;
  static final Duration answerTime = Duration.ofSeconds(6);

  static final ObjectMapper json = new ObjectMapper();
  static final SecureRandom random = new SecureRandom();
  static final List<Map<String, Object>> everything = List.of(Map.of("path", "/", "tree", true));

  final String source;
  final Path positionFile;
  final DistributedFileSystem files;
  final HdfsAdmin admin;
  final Connection connection;
  final String inbox;

  volatile long txid = -1;
  volatile long reported = 0;

  public static void main(String[] arguments) throws Exception {
    String token = System.getenv("GANTRY_TOKEN");
    if (arguments.length < 2 || arguments.length > 3 || token == null) {
      System.err.println("usage: GANTRY_TOKEN=… HdfsInotify <source> <position file> [hdfs://name-node:8020]");
      System.exit(2);
    }
    Configuration configuration = new Configuration();
    URI cluster = arguments.length == 3 ? URI.create(arguments[2]) : FileSystem.getDefaultUri(configuration);
    HdfsInotify reporter = new HdfsInotify(arguments[0], Path.of(arguments[1]), cluster, configuration, token);
    reporter.serve();
    Runtime.getRuntime().addShutdownHook(new Thread(reporter::deregister));
    reporter.follow();
  }

  HdfsInotify(String source, Path positionFile, URI cluster, Configuration configuration, String token)
      throws Exception {
    this.source = source;
    this.positionFile = positionFile;
    files = (DistributedFileSystem) FileSystem.newInstance(cluster, configuration);
    admin = new HdfsAdmin(cluster, configuration);
    String[] parts = token.split("\\.");
    JsonNode location = json.readTree(Base64.getUrlDecoder().decode(parts[1]));
    inbox = "_INBOX." + parts[2];
    connection = Nats.connect(new Options.Builder()
        .server(location.get("n").asText())
        .token(token.toCharArray())
        .inboxPrefix(inbox + ".")
        .connectionName(instance)
        .maxReconnects(-1)
        .connectionListener((its, event) -> {
          if (event == Events.RECONNECTED) new Thread(this::register).start();
        })
        .build());
  }

  // What the platform is asked

  /** An answer that is an error. */
  static class Refused extends IOException {
    final String code;

    Refused(JsonNode body) {
      super(body.path("message").asText());
      code = body.path("code").asText();
    }
  }

  JsonNode ask(String service, String verb, Object body) throws IOException, InterruptedException {
    byte[] bytes = new byte[16];
    random.nextBytes(bytes);
    // The client's own reply subjects can be guessed.
    String reply = inbox + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    String subject = "gantry.services.v1." + service + "." + verb;
    Subscription replies = connection.subscribe(reply);
    try {
      connection.publish(subject, reply, json.writeValueAsBytes(body));
      Message message = replies.nextMessage(answerTime);
      if (message == null || message.isStatusMessage()) throw new IOException(subject + " is not answered");
      JsonNode answer = json.readTree(message.getData());
      boolean isError = message.hasHeaders() && message.getHeaders().containsKey("Nats-Service-Error-Code");
      if (isError) throw new Refused(answer);
      return answer;
    } catch (IllegalStateException closed) {
      throw new IOException(closed);
    } finally {
      if (replies.isActive()) replies.unsubscribe();
    }
  }

  /** Returns when the platform has stored it. */
  void report(List<Map<String, Object>> changes, long sinceMs) throws InterruptedException {
    List<Map<String, Object>> all = changes;
    for (String told = ""; ; Thread.sleep(retryMs)) {
      try {
        ask("filesystems", "report-changes", Map.of("fileSystemId", source, "changes", all, "since", sinceMs));
        reported += changes.size();
        return;
      } catch (IOException error) {
        // A path that the platform does not take, such as one that is too long.
        if (error instanceof Refused && ((Refused) error).code.equals("INVALID_INPUT")) all = everything;
        String why = "not reported, and tried again: " + error.getMessage();
        if (!why.equals(told)) System.err.println(why);
        told = why;
      }
    }
  }

  // The extension

  /** Answers `status`, registers, and says that it lives. */
  void serve() throws Exception {
    connection.createDispatcher(message -> {
      if (message.getReplyTo() == null || !message.getReplyTo().startsWith("_INBOX.")) return;
      connection.publish(message.getReplyTo(), status());
    }).subscribe("gantry.extensions." + prefix + ".status", "gantry");
    long everyMs = 10_000;
    JsonNode registered = register();
    if (registered != null) everyMs = registered.get("heartbeatEveryMs").asLong();
    ScheduledExecutorService beats = Executors.newSingleThreadScheduledExecutor(work -> {
      Thread thread = new Thread(work, "heartbeats");
      thread.setDaemon(true);
      return thread;
    });
    beats.scheduleAtFixedRate(this::beat, everyMs, everyMs, TimeUnit.MILLISECONDS);
  }

  byte[] status() {
    try {
      return json.writeValueAsBytes(Map.of("source", source, "txid", txid, "reported", reported));
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  JsonNode register() {
    Map<String, Object> status = Map.of(
        "name", "status",
        "summary", "How far the changes of the cluster are reported",
        "method", "GET",
        "output", Map.of(
            "type", "object",
            "properties", Map.of(
                "source", Map.of("type", "string", "description", "Filesystem whose changes are reported"),
                "txid", Map.of("type", "integer", "description", "Transaction up to which all is reported; -1: none"),
                "reported", Map.of("type", "integer", "description", "Changes reported since the start")),
            "required", List.of("source", "txid", "reported")));
    try {
      JsonNode registered = ask("extensions", "register", Map.of(
          "prefix", prefix,
          "name", "HDFS inotify",
          "version", "1.0.0",
          "description", "Reports what changes in a cluster of HDFS",
          "instance", instance,
          "endpoints", List.of(status)));
      System.out.println(prefix + " is registered");
      return registered;
    } catch (IOException | InterruptedException error) {
      // Changes are reported all the same.
      System.err.println("not registered: " + error.getMessage());
      return null;
    }
  }

  void deregister() {
    try {
      ask("extensions", "deregister", Map.of("prefix", prefix, "instance", instance));
    } catch (IOException | InterruptedException error) {
      // The platform notices its silence.
      System.err.println("not deregistered: " + error.getMessage());
    }
  }

  void beat() {
    try {
      ask("extensions", "heartbeat", Map.of("prefix", prefix, "instance", instance));
    } catch (IOException | InterruptedException error) {
      if (error instanceof Refused && ((Refused) error).code.equals("NOT_FOUND")) register();
      else System.err.println("no heartbeat: " + error.getMessage());
    }
  }

  // What the name node tells

  void follow() throws Exception {
    txid = kept();
    for (;;) {
      try {
        followFrom(txid);
      } catch (MissingEventsException missing) {
        System.err.println("the name node no longer knows what came after transaction " + txid);
        txid = -1;
      } catch (IOException error) {
        System.err.println("the name node is asked again: " + error.getMessage());
        Thread.sleep(retryMs);
      }
    }
  }

  void followFrom(long known) throws IOException, InterruptedException, MissingEventsException {
    long last = files.getClient().getNamenode().getCurrentEditLogTxid();
    // Another cluster, or this one made anew, counts from the beginning.
    boolean isKnown = known >= 0 && known <= last;
    long begin = isKnown ? known : last;
    DFSInotifyEventInputStream events = admin.getInotifyEventStream(begin);
    if (!isKnown) {
      report(everything, System.currentTimeMillis());
      keep(begin);
    }
    long quietSinceMs = 0;
    for (;;) {
      long askedMs = System.currentTimeMillis();
      EventBatch batch = events.poll(1, TimeUnit.SECONDS);
      if (batch == null) {
        if (askedMs - quietSinceMs < quietMs) continue;
        report(List.of(), askedMs);
        quietSinceMs = askedMs;
        continue;
      }
      List<Map<String, Object>> changes = new ArrayList<>();
      long sinceMs = askedMs;
      long through = begin;
      long untilMs = askedMs + gatherMs;
      // A batch is one transaction, which has a few events at most.
      for (; batch != null; batch = next(events, changes.size(), untilMs)) {
        for (Event event : batch.getEvents()) sinceMs = Math.min(sinceMs, add(changes, event, askedMs));
        through = batch.getTxid();
      }
      report(changes, sinceMs);
      keep(through);
      quietSinceMs = askedMs;
    }
  }

  /** The next batch for the same report; null where it is full, or nothing more has come in time. */
  EventBatch next(DFSInotifyEventInputStream events, int size, long untilMs)
      throws IOException, InterruptedException, MissingEventsException {
    long leftMs = untilMs - System.currentTimeMillis();
    if (size >= maxChanges || leftMs <= 0) return null;
    return events.poll(leftMs, TimeUnit.MILLISECONDS);
  }

  /** @return when it happened, in milliseconds since 1970 */
  static long add(List<Map<String, Object>> changes, Event event, long nowMs) {
    switch (event.getEventType()) {
      case RENAME: {
        Event.RenameEvent renamed = (Event.RenameEvent) event;
        changes.add(Map.of("path", text(renamed.getDstPath()), "from", text(renamed.getSrcPath())));
        return renamed.getTimestamp();
      }
      case CREATE: {
        Event.CreateEvent created = (Event.CreateEvent) event;
        changes.add(Map.of("path", text(created.getPath())));
        return created.getCtime();
      }
      case CLOSE: {
        Event.CloseEvent closed = (Event.CloseEvent) event;
        changes.add(Map.of("path", text(closed.getPath())));
        return closed.getTimestamp();
      }
      case APPEND:
        changes.add(Map.of("path", text(((Event.AppendEvent) event).getPath())));
        return nowMs;
      case TRUNCATE: {
        Event.TruncateEvent truncated = (Event.TruncateEvent) event;
        changes.add(Map.of("path", text(truncated.getPath())));
        return truncated.getTimestamp();
      }
      case METADATA:
        changes.add(Map.of("path", text(((Event.MetadataUpdateEvent) event).getPath())));
        return nowMs;
      case UNLINK: {
        Event.UnlinkEvent unlinked = (Event.UnlinkEvent) event;
        changes.add(Map.of("path", text(unlinked.getPath()), "tree", true));
        return unlinked.getTimestamp();
      }
      default:
        // A later Hadoop may tell of more.
        changes.addAll(everything);
        return nowMs;
    }
  }

  /** In paths of the platform a percent sign is escaped. */
  static String text(String path) {
    return path.replace("%", "%25");
  }

  // The position

  long kept() throws IOException {
    return Files.exists(positionFile) ? Long.parseLong(Files.readString(positionFile).trim()) : -1;
  }

  void keep(long through) throws IOException {
    Path next = positionFile.resolveSibling(positionFile.getFileName() + ".new");
    try (FileChannel channel = FileChannel.open(next, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
        StandardOpenOption.TRUNCATE_EXISTING)) {
      channel.write(ByteBuffer.wrap((through + "\n").getBytes(StandardCharsets.US_ASCII)));
      channel.force(true);
    }
    Files.move(next, positionFile, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    txid = through;
  }
}
