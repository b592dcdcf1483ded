import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.EnumSet;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.key.KeyProvider;
import org.apache.hadoop.crypto.key.KeyProviderFactory;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.qjournal.MiniQJMHACluster;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.server.namenode.NameNodeAdapter;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.delegation.AbstractDelegationTokenSecretManager;

/**
 * A cluster of HDFS in one process. Arguments are `name=value`: properties of Hadoop, and `folder`, `nameNodes`, `dataNodes`,
 * `zoneKey`, `again`: the ports of RPC and HTTP of the name node whose folder it is; `keytab` and `principal` of all servers and `web`, their principal to clients of HTTP (Kerberos); `httpFs`, the port of an HttpFS
 * in front of it, with `starter`, the user of this process. It says `READY <addresses>` and then does what each line of its input says, answering `DONE` or `FAILED <why>`.
 */
public class Cluster {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> own =
        Stream.of(arguments).map(one -> one.split("=", 2)).collect(Collectors.toMap(one -> one[0], one -> one[1]));
    Configuration configuration = new HdfsConfiguration();
    own.forEach((name, value) -> { if (name.contains(".")) configuration.set(name, value); });
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, own.get("folder"));
    configuration.setBoolean("dfs.namenode.acls.enabled", true);
    if (own.containsKey("keytab")) {
      kerberize(configuration, own.get("principal"), own.get("web"), own.get("keytab"));
      UserGroupInformation.setConfiguration(configuration);
      UserGroupInformation.loginUserFromKeytab(own.get("principal"), own.get("keytab"));
    }
    isSecure = DFSUtil.getHttpPolicy(configuration).isHttpsEnabled();
    host = own.containsKey("keytab") || isSecure ? "localhost" : "127.0.0.1";
    // Else each file waits for 400 ms and more until a data node has reported its block.
    configuration.set("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", "5");
    // Doubled each time: five seconds in all, as on a slow machine it takes long until a block is reported.
    configuration.set("dfs.client.block.write.locateFollowingBlock.retries", "10");
    if (own.containsKey("zoneKey")) {
      configuration.set("hadoop.security.key.provider.path", "jceks://file" + own.get("folder") + "/keys.jceks");
      KeyProvider keys = KeyProviderFactory.getProviders(configuration).get(0);
      keys.createKey(own.get("zoneKey"), new KeyProvider.Options(configuration));
      keys.flush();
    }
    int dataNodes = Integer.parseInt(own.getOrDefault("dataNodes", "1"));
    boolean isPair = "2".equals(own.get("nameNodes"));
    MiniDFSCluster cluster;
    if (isPair) {
      MiniQJMHACluster.Builder builder = new MiniQJMHACluster.Builder(configuration);
      builder.getDfsBuilder().numDataNodes(dataNodes);
      cluster = builder.build().getDfsCluster();
      cluster.transitionToActive(0);
      cluster.waitClusterUp();
    } else {
      MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(configuration).numDataNodes(dataNodes);
      if (own.containsKey("again")) {
        String[] ports = own.get("again").split(",");
        builder.format(false).nameNodePort(Integer.parseInt(ports[0])).nameNodeHttpPort(Integer.parseInt(ports[1]));
      }
      cluster = builder.build();
      cluster.waitActive();
    }
    if (own.containsKey("zoneKey")) {
      cluster.getFileSystem().mkdirs(new Path("/zone"));
      new HdfsAdmin(cluster.getFileSystem().getUri(), configuration)
          .createEncryptionZone(new Path("/zone"), own.get("zoneKey"), EnumSet.noneOf(CreateEncryptionZoneFlag.class));
    }
    String addresses = address(cluster, 0) + (isPair ? " " + address(cluster, 1) : "");
    System.out.println("READY " + (own.containsKey("httpFs") ? httpFs(configuration, own) : addresses));
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        System.out.println("DONE" + act(cluster, line.split(" ")));
      } catch (Exception error) {
        System.out.println("FAILED " + String.valueOf(error.getMessage()).split("\n")[0]);
      }
    }
    System.exit(0);
  }

  static String address(MiniDFSCluster cluster, int node) {
    NameNode nameNode = cluster.getNameNode(node);
    return host + ":" + (isSecure ? nameNode.getHttpsAddress() : nameNode.getHttpAddress()).getPort();
  }

  static boolean isSecure;
  static String host;

  /** All servers are one principal, and another one to clients of HTTP. */
  static void kerberize(Configuration configuration, String principal, String web, String keytab) {
    configuration.set("hadoop.security.authentication", "kerberos");
    configuration.set("hadoop.security.authorization", "true");
    configuration.set("dfs.block.access.token.enable", "true");
    configuration.set("ignore.secure.ports.for.testing", "true");
    for (String server : new String[] {"namenode", "datanode", "journalnode"}) {
      configuration.set("dfs." + server + ".kerberos.principal", principal);
      configuration.set("dfs." + server + ".keytab.file", keytab);
      configuration.set("dfs." + server + ".kerberos.internal.spnego.principal", web);
    }
    configuration.set("hadoop.http.filter.initializers", "org.apache.hadoop.security.AuthenticationFilterInitializer");
    for (String prefix : new String[] {"hadoop.http.authentication.", "dfs.web.authentication."}) {
      configuration.set(prefix + "type", "kerberos");
      configuration.set(prefix + "kerberos.principal", web);
      configuration.set(prefix + "kerberos.keytab", keytab);
    }
  }

  /** Starts HttpFS in front of the cluster, and gives its address. It reads its configuration from files. */
  static String httpFs(Configuration configuration, Map<String, String> own) throws Exception {
    File folder = new File(own.get("folder"), "httpfs");
    File etc = new File(folder, "conf");
    for (String name : new String[] {"conf", "log", "temp"}) new File(folder, name).mkdirs();
    System.setProperty("httpfs.home.dir", folder.getPath());
    for (String name : new String[] {"config.conf", "log.log", "temp.temp"}) {
      String[] parts = name.split("\\.");
      System.setProperty("httpfs." + parts[0] + ".dir", new File(folder, parts[1]).getPath());
    }
    Files.writeString(new File(etc, "httpfs-signature.secret").toPath(), "of these tests alone");
    Configuration settings = new Configuration(false);
    own.forEach((name, value) -> { if (name.startsWith("httpfs.")) settings.set(name, value); });
    settings.set("hadoop.http.authentication.signature.secret.file", new File(etc, "httpfs-signature.secret").getPath());
    settings.set("httpfs.authentication.signature.secret.file", new File(etc, "httpfs-signature.secret").getPath());
    settings.set("httpfs.http.hostname", host);
    settings.set("httpfs.http.port", own.get("httpFs"));
    // In this process the name nodes take these for theirs.
    for (String user : new String[] {own.get("starter"), "hdfs"}) {
      settings.set("httpfs.proxyuser." + user + ".hosts", "*");
      settings.set("httpfs.proxyuser." + user + ".groups", "*");
    }
    if (own.containsKey("keytab")) {
      for (String prefix : new String[] {"httpfs.authentication.", "hadoop.http.authentication."}) {
        settings.set(prefix + "type", "kerberos");
        settings.set(prefix + "kerberos.principal", own.get("web"));
        settings.set(prefix + "kerberos.keytab", own.get("keytab"));
      }
      settings.set("httpfs.hadoop.authentication.type", "kerberos");
      settings.set("httpfs.hadoop.authentication.kerberos.principal", own.get("principal"));
      settings.set("httpfs.hadoop.authentication.kerberos.keytab", own.get("keytab"));
    }
    try (OutputStream file = new FileOutputStream(new File(etc, "httpfs-site.xml"))) {
      settings.writeXml(file);
    }
    for (String name : new String[] {"core-site.xml", "hdfs-site.xml"}) {
      try (OutputStream file = new FileOutputStream(new File(etc, name))) {
        configuration.writeXml(file);
      }
    }
    Configuration all = new Configuration(configuration);
    settings.forEach(entry -> all.set(entry.getKey(), entry.getValue()));
    Constructor<?> constructor =
        Class.forName("org.apache.hadoop.fs.http.server.HttpFSServerWebServer")
            .getDeclaredConstructor(Configuration.class, Configuration.class);
    constructor.setAccessible(true);
    Object server = constructor.newInstance(all, new Configuration(false));
    server.getClass().getMethod("start").invoke(server);
    return host + ":" + own.get("httpFs");
  }

  /** What Hadoop's own client says or does. */
  static String act(MiniDFSCluster cluster, String[] words) throws Exception {
    FileSystem files = words[0].equals("failover") ? null : cluster.getFileSystem();
    switch (words[0]) {
      case "failover":
        cluster.transitionToStandby(0);
        cluster.transitionToActive(1);
        return "";
      case "restart-name-node":
        cluster.restartNameNode(true);
        return "";
      case "forget-tokens": {
        Field tokens = AbstractDelegationTokenSecretManager.class.getDeclaredField("currentTokens");
        tokens.setAccessible(true);
        ((Map<?, ?>) tokens.get(NameNodeAdapter.getDtSecretManager(cluster.getNamesystem()))).clear();
        return "";
      }
      case "allow-snapshots":
        cluster.getFileSystem().allowSnapshot(new Path(words[1]));
        return "";
      case "address":
        return " " + files.getUri();
      case "checksum":
        return " " + files.getFileChecksum(new Path(words[1]));
      case "status": {
        FileStatus status = files.getFileStatus(new Path(words[1]));
        return " " + String.join(" ", status.getOwner(), status.getGroup(), status.getPermission().toString(),
            String.valueOf(status.getModificationTime()), String.valueOf(status.getLen()),
            String.valueOf(status.getBlockSize()), String.valueOf(status.getReplication()));
      }
      case "acl":
        return " " + files.getAclStatus(new Path(words[1])).getEntries();
      case "read":
        try (FSDataInputStream stream = files.open(new Path(words[1]))) {
          return " " + new String(stream.readAllBytes());
        }
      case "is-open":
        return " " + !((DistributedFileSystem) files).isFileClosed(new Path(words[1]));
      case "write":
        try (FSDataOutputStream stream = files.create(new Path(words[1]))) {
          stream.writeBytes(words[2]);
        }
        return "";
      default:
        throw new IllegalArgumentException("unknown: " + words[0]);
    }
  }
}
