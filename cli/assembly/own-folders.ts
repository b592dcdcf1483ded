import { dirname } from 'node:path'
import { cacheFolder } from '../../broker/server/nats-server.ts'
import type { SecurityConfig } from '../../config/security.ts'
import { homeVariable } from '../../subjects/kit/names.ts'
import { programFolder } from '../program-folder.ts'
import { userSessionPath } from '../sign-in/user-session.ts'

/** Folders of every process of Gantry on this host, platform or agent, that no filesystem may be in. */
export function ownFolders(env: NodeJS.ProcessEnv, home: string) {
  const session = userSessionPath(env)
  const compiled = env['NODE_COMPILE_CACHE']
  return [
    {
      name: 'the configuration folder',
      path: home,
      fix: `move that folder and set ${homeVariable} to its new place`,
    },
    { name: 'the program folder', path: programFolder(), fix: 'move the program to another folder' },
    { name: 'the cache folder', path: cacheFolder(env), fix: 'set GANTRY_CACHE to another folder' },
    ...(session === undefined
      ? []
      : [
          {
            name: 'the folder of the command line’s session',
            path: dirname(session),
            fix: 'set XDG_CONFIG_HOME to another folder',
          },
        ]),
    ...(compiled === undefined
      ? []
      : [
          {
            name: 'the folder of compiled code',
            path: compiled,
            fix: 'set NODE_COMPILE_CACHE to another folder',
          },
        ]),
  ]
}

/** Files with secrets of the platform, or whom it trusts, that its configuration names elsewhere. */
export const secretFiles = (security: SecurityConfig) =>
  Object.entries(security.type === 'ldap' ? security.files : {}).map(([property, path]) => ({
    name: `the file of ${property}`,
    path,
    fix: `move that file into a folder of its own and change ${property}`,
  }))

/** The folder of the broker's streams, which `messaging.config` may have elsewhere. */
export const storeFolder = (path: string) => ({
  name: 'the store folder',
  path,
  fix: 'move that folder and change store_dir in messaging.config',
})
