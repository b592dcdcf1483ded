import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseSize } from '../../config/sizes.ts'
import { parseToken } from '../../broker/identity/token.ts'
import { serveCatalogs } from '../../services/metadata/agents/serve-catalogs.ts'
import { superviseAgent } from '../../services/migrations/agents/supervise-agent.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import type { Context, Globals } from '../context.ts'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import { oneLine } from '../failure.ts'
import { createLog } from '../log.ts'
import { stopSignals } from '../signals.ts'
import { ownFolders } from './own-folders.ts'
import { findToken, homeFolder } from '../sign-in/token.ts'

export interface AgentCommandOptions extends Globals {
  readonly token?: string
  readonly name?: string
  readonly share?: readonly string[]
  readonly catalogs?: boolean
  readonly threads?: string
  readonly bandwidth?: string
  readonly logLevel: string
}

/** `gantry agent`: moves files for a platform until Ctrl-C or SIGTERM. Resolves to the exit code. */
export async function agent(context: Context, options: AgentCommandOptions): Promise<number> {
  const { terminal } = context
  const signals = stopSignals(() => process.exit(exitCodes.interrupted.status))
  const ending = new AbortController()
  void signals.first.then(() => {
    terminal.out('Finishing work in progress; press Ctrl-C again to stop immediately.\n')
    ending.abort(new Error('the agent was stopped'))
  })
  try {
    const { token, location } = tokenOf(context, options)
    const log = await createLog(options.logLevel, { colour: terminal.errColours })
    const { name, share = [] } = options
    const bytesPerSecond = bandwidthOf(options.bandwidth)
    const folders = {
      shares: share.map((path) => resolve(context.cwd, path)),
      ownFolders: ownFoldersOf(context, options),
    }
    await superviseAgent(
      {
        url: options.server ?? location.nats,
        token,
        name,
        ...folders,
        threads: threadsOf(options.threads),
        bytesPerSecond,
        log,
        ...(options.catalogs === true && {
          beside: (connection, keyId, signal) =>
            serveCatalogs({ connection, keyId, ...folders, log }, signal),
        }),
      },
      ending.signal,
    )
    terminal.out('Ended.\n')
    return exitCodes.ok.status
  } catch (error) {
    const line = lineOf(error)
    if (line === undefined) throw error
    terminal.err(`${terminal.errStyle('red', 'error:')} ${line}\n`)
    return exitCodeOf(error)
  } finally {
    signals.dispose()
  }
}

/** The token of `--token`, or that which every command finds. */
function tokenOf(context: Context, { token, tokenFile }: AgentCommandOptions) {
  if (token === undefined) return findToken({ ...context, tokenFile })
  const { location } = parseToken(token) ?? {}
  if (location !== undefined) return { token, location }
  throw new GantryError('UNAUTHENTICATED', '--token does not contain a valid API token for this platform')
}

/** With the file of the token: whoever has that is this agent. */
function ownFoldersOf(context: Context, { tokenFile }: AgentCommandOptions) {
  const folders = ownFolders(context.env, homeFolder(context))
  if (tokenFile === undefined) return folders
  const path = resolve(context.cwd, tokenFile)
  return [...folders, { name: 'the token file', path, fix: 'move that file and change --token-file' }]
}

function bandwidthOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const bytes = parseSize(text)
  if (bytes !== undefined && bytes > 0) return bytes
  throw new GantryError(
    'INVALID_INPUT',
    `--bandwidth must be a size such as 50MiB, for one second; it is ${text}`,
  )
}

const maxThreads = 1_024

function threadsOf(text: string | undefined): number {
  if (text === undefined) return availableParallelism()
  const threads = Number(text)
  if (Number.isInteger(threads) && threads >= 1 && threads <= maxThreads) return threads
  throw new GantryError('INVALID_INPUT', `--threads must be a number from 1 to ${maxThreads}; it is ${text}`)
}

/** The one line that says what to mend; undefined for faults of our own. */
function lineOf(error: unknown): string | undefined {
  if (isGantryError(error)) return oneLine(error.message)
  const { code, path } = error as NodeJS.ErrnoException
  return path === undefined ? undefined : oneLine(`--share ${path} cannot be used (${code})`)
}
