import type { Session } from './sign-in/session.ts'
import type { FormOptions } from './output/form.ts'
import type { Terminal } from './output/terminal.ts'
import { isRefreshDue, userSessionPath } from './sign-in/user-session.ts'

/** Options of every command. */
export interface Globals extends FormOptions {
  readonly server?: string
  readonly tokenFile?: string
}

/** All that a command touches of the process that it runs in; tests give their own. */
export interface Context {
  readonly env: NodeJS.ProcessEnv
  /** Folder that relative paths start from. */
  readonly cwd: string
  /** Folder of the program, where that may have a configuration folder beside it. */
  readonly folder?: string
  readonly terminal: Terminal
  readonly readStdin: () => Promise<string>
  /** @throws GantryError when there is no token, it is refused, or the platform cannot be reached */
  readonly connect: (globals: Globals) => Promise<Session>
  /** Ends the process with this code once all is written; 0 unless somebody says otherwise. */
  exitCode: number
}

/** Connects, works, and disconnects whatever happens. */
export async function withSession<T>(
  { connect }: Pick<Context, 'connect'>,
  globals: Globals,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await connect(globals)
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

/** What the process, or a test, gives a command to begin with. */
export type Surroundings = Pick<Context, 'env' | 'cwd' | 'folder' | 'terminal' | 'readStdin'>

async function refreshUserSession(session: Session, { env }: Surroundings): Promise<void> {
  const path = userSessionPath(env)
  if (path === undefined || !isRefreshDue(path)) return
  try {
    const { refresh } = await import('./sign-in/refresh.ts')
    await refresh(session, path)
  } catch (error) {
    await session.close()
    throw error
  }
}

/** A context whose connections present the token that is found there. */
export function createContext(surroundings: Surroundings): Context {
  return {
    ...surroundings,
    connect: async ({ server, tokenFile }) => {
      // Loaded when a command needs them: help and completion answer sooner without.
      const [{ findToken, homeFolder }, { openSession }, { isElsewhere, startCommand }] = await Promise.all([
        import('./sign-in/token.ts'),
        import('./sign-in/session.ts'),
        import('./up/last-start.ts'),
      ])
      const found = findToken({ ...surroundings, tokenFile })
      const session = await openSession(found, {
        server,
        startOf: (broker) => startCommand(homeFolder(surroundings), broker),
        elsewhere: async (broker) => {
          const home = homeFolder(surroundings)
          // What can tell for sure loads much; most often there is no other address.
          if (!isElsewhere(home, broker)) return undefined
          const { runningAt } = await import('./up/running.ts')
          return runningAt(home)
        },
      })
      if (found.isUserSession) await refreshUserSession(session, surroundings)
      return session
    },
    exitCode: 0,
  }
}
