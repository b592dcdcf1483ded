import java.io.BufferedReader;
import java.io.InputStreamReader;
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
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.qjournal.MiniQJMHACluster;

/**
 * A cluster of HDFS in one process. Arguments are `name=value`: properties of Hadoop, and `folder`, `nameNodes`, `dataNodes`,
 * `zoneKey`. It says `READY <addresses>` and then does what each line of its input says, answering `DONE` or `FAILED <why>`.
 */
public class Cluster {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> own =
        Stream.of(arguments).map(one -> one.split("=", 2)).collect(Collectors.toMap(one -> one[0], one -> one[1]));
    Configuration configuration = new HdfsConfiguration();
    own.forEach((name, value) -> { if (name.contains(".")) configuration.set(name, value); });
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, own.get("folder"));
    configuration.setBoolean("dfs.namenode.acls.enabled", true);
    // Else each file waits for 400 ms and more until a data node has reported its block.
    configuration.set("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", "5");
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
      cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(dataNodes).build();
      cluster.waitActive();
    }
    if (own.containsKey("zoneKey")) {
      cluster.getFileSystem().mkdirs(new Path("/zone"));
      new HdfsAdmin(cluster.getFileSystem().getUri(), configuration)
          .createEncryptionZone(new Path("/zone"), own.get("zoneKey"), EnumSet.noneOf(CreateEncryptionZoneFlag.class));
    }
    System.out.println("READY " + address(cluster, 0) + (isPair ? " " + address(cluster, 1) : ""));
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
    return "127.0.0.1:" + cluster.getNameNode(node).getHttpAddress().getPort();
  }

  /** What Hadoop's own client says or does. */
  static String act(MiniDFSCluster cluster, String[] words) throws Exception {
    FileSystem files = words[0].equals("failover") ? null : cluster.getFileSystem();
    switch (words[0]) {
      case "failover":
        cluster.transitionToStandby(0);
        cluster.transitionToActive(1);
        return "";
      case "stop-data-nodes":
        cluster.shutdownDataNodes();
        return "";
      case "restart-name-node":
        cluster.restartNameNode(true);
        return "";
      case "allow-snapshots":
        cluster.getFileSystem().allowSnapshot(new Path(words[1]));
        return "";
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
