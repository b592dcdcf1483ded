/** Ten calls with the client that was generated for TypeScript, a line of output for each. */
import {
  Configuration,
  ExclusionsApi,
  FilesystemsApi,
  KeysApi,
  PlatformApi,
  RbacApi,
  ResponseError,
} from './index.js'

const configuration = new Configuration({
  basePath: process.env['GANTRY_URL']!,
  accessToken: process.env['GANTRY_TOKEN']!,
})
const name = 'typescript'

const platform = new PlatformApi(configuration)
console.log((await platform.platformPing()).message)
console.log((await platform.platformInfo()).name)
const keys = new KeysApi(configuration)
console.log((await keys.keysSelf()).kind)

const filesystems = new FilesystemsApi(configuration)
const made = await filesystems.filesystemsCreateLocal({
  filesystemsCreateLocalRequest: {
    fileSystemId: name,
    role: 'target',
    fsRoot: process.env['GANTRY_FOLDER']!,
  },
})
console.log(made.fsType)
console.log((await filesystems.filesystemsGet({ fileSystemId: name })).isSource)

const exclusions = new ExclusionsApi(configuration)
const rule = await exclusions.exclusionsCreateFileSize({
  exclusionsCreateFileSizeRequest: { id: name, value: 6, unit: 'GB' },
})
console.log(rule.maxBytes)
console.log((await exclusions.exclusionsGet({ id: name })).type)
await exclusions.exclusionsDelete({ id: name })
console.log('deleted')

const checked = await new RbacApi(configuration).rbacCheck({
  action: 'publish',
  subject: 'gantry.services.v1.keys.list',
})
console.log(checked.allowed)
try {
  await keys.keysGet({ id: 'k0123456789abc' })
} catch (error) {
  if (!(error instanceof ResponseError)) throw error
  const { code } = (await error.response.json()) as { code: string }
  console.log(error.response.status, code)
}
