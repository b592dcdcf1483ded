"""Ten calls with the client that was generated for Python, a line of output for each."""

import json
import os

import gantry_client as api

client = api.ApiClient(api.Configuration(host=os.environ["GANTRY_URL"], access_token=os.environ["GANTRY_TOKEN"]))
name = "python"

platform = api.PlatformApi(client)
print(platform.platform_ping().message)
print(platform.platform_info().name)
keys = api.KeysApi(client)
print(keys.keys_self().kind)

filesystems = api.FilesystemsApi(client)
made = filesystems.filesystems_create_local(
    api.FilesystemsCreateLocalRequest(file_system_id=name, role="target", fs_root=os.environ["GANTRY_FOLDER"])
)
print(made.fs_type)
print(json.dumps(filesystems.filesystems_get(name).is_source))

exclusions = api.ExclusionsApi(client)
rule = exclusions.exclusions_create_file_size(api.ExclusionsCreateFileSizeRequest(id=name, value=6, unit="GB"))
print(rule.max_bytes)
print(exclusions.exclusions_get(name).type)
exclusions.exclusions_delete(name)
print("deleted")

checked = api.RbacApi(client).rbac_check(action="publish", subject="gantry.services.v1.keys.list")
print(json.dumps(checked.allowed))
try:
    keys.keys_get("k0123456789abc")
except api.ApiException as error:
    print(error.status, json.loads(error.body)["code"])
