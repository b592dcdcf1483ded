import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { product } from '../subjects/kit/names.ts'
import { shellWord } from '../subjects/kit/shell-word.ts'

/** How this program is called, as a shell takes it. */
export interface TypedCommand {
  /** In the folder where it was called. */
  readonly here: string
  /** In any folder. */
  readonly anywhere: string
  /** How the platform is started. */
  readonly start: string
}

/** Service of docker-compose.yml that this runs in: people type commands on its host. */
export const composeVariable = 'GANTRY_COMPOSE_SERVICE'

/** How it is called where it is installed, so that the shell finds it: all texts are written so. */
export const installedCommand: TypedCommand = calledBy(product)

/**
 * How the program in a folder is called: by its name where the shell finds that, else by the path of the launcher, which a
 * clone has.
 */
export function typedCommand(
  folder: string,
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): TypedCommand {
  const service = env[composeVariable]
  if (service) {
    const inContainer = `docker compose exec ${shellWord(service)} ${product}`
    return { ...calledBy(inContainer), start: 'docker compose up -d --wait' }
  }
  const launcher = join(folder, product)
  if (!existsSync(launcher)) return installedCommand
  const own = [launcher, join(folder, 'cli', `${product}.mjs`)].map(realPath)
  const found = (env['PATH'] ?? '')
    .split(delimiter)
    .map((place) => realPath(resolve(cwd, place, product)))
    .find((path) => path !== undefined)
  if (found !== undefined && own.includes(found)) return installedCommand
  const anywhere = shellWord(launcher)
  return calledBy(realPath(cwd) === realPath(folder) ? `./${product}` : anywhere, anywhere)
}

function calledBy(here: string, anywhere = here): TypedCommand {
  return { here, anywhere, start: `${here} up` }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
