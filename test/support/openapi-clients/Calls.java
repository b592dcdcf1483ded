import com.fasterxml.jackson.databind.ObjectMapper;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ExclusionsApi;
import org.openapitools.client.api.FilesystemsApi;
import org.openapitools.client.api.KeysApi;
import org.openapitools.client.api.PlatformApi;
import org.openapitools.client.api.RbacApi;
import org.openapitools.client.model.ExclusionsCreateFileSizeRequest;
import org.openapitools.client.model.FilesystemsCreateLocalRequest;

/** Ten calls with the client that was generated for Java, a line of output for each. */
public class Calls {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("GANTRY_URL"));
    String token = System.getenv("GANTRY_TOKEN");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    String name = "java";

    PlatformApi platform = new PlatformApi(client);
    System.out.println(platform.platformPing().getMessage());
    System.out.println(platform.platformInfo().getName());
    KeysApi keys = new KeysApi(client);
    System.out.println(keys.keysSelf().getKind());

    FilesystemsApi filesystems = new FilesystemsApi(client);
    FilesystemsCreateLocalRequest local = new FilesystemsCreateLocalRequest()
        .fileSystemId(name)
        .role(FilesystemsCreateLocalRequest.RoleEnum.TARGET)
        .fsRoot(System.getenv("GANTRY_FOLDER"));
    System.out.println(filesystems.filesystemsCreateLocal(local).getFsType());
    System.out.println(filesystems.filesystemsGet(name, null, null).getIsSource());

    ExclusionsApi exclusions = new ExclusionsApi(client);
    ExclusionsCreateFileSizeRequest size = new ExclusionsCreateFileSizeRequest()
        .id(name)
        .value(6L)
        .unit(ExclusionsCreateFileSizeRequest.UnitEnum.GB);
    System.out.println(exclusions.exclusionsCreateFileSize(size).getMaxBytes());
    System.out.println(exclusions.exclusionsGet(name).getType());
    exclusions.exclusionsDelete(name);
    System.out.println("deleted");

    System.out.println(
        new RbacApi(client).rbacCheck("publish", "gantry.services.v1.keys.list", null).getAllowed());
    try {
      keys.keysGet("k0123456789abc");
    } catch (ApiException error) {
      String code = new ObjectMapper().readTree(error.getResponseBody()).get("code").asText();
      System.out.println(error.getCode() + " " + code);
    }
  }
}
