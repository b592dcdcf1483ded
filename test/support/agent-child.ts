import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { agentKeys, agents } from '../../subjects/migrations/agents.ts'
import type { TestPlatform } from './platform.ts'
import { until } from './until.ts'

const entry = fileURLToPath(new URL('../../cli/gantry.ts', import.meta.url))

/** A real `gantry agent` in a process of its own. */
export class AgentChild implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #exit: Promise<unknown[]>
  readonly #lines: string[] = []

  constructor(token: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.#process = spawn(process.execPath, [entry, 'agent', '--log-level', 'debug', ...args], {
      env: { ...process.env, ...env, GANTRY_TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exit = once(this.#process, 'exit')
    for (const stream of [this.#process.stdout!, this.#process.stderr!])
      createInterface(stream).on('line', (line) => this.#lines.push(line))
  }

  /** All that it has printed so far. */
  get printed(): string {
    return this.#lines.join('\n')
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Resolves to its exit code when it has ended. */
  async exitCode(): Promise<number | null> {
    await this.#exit
    return this.#process.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL')
    await this.#exit
  }
}

/** An agent on this host with a key of its own, whose name it has, once the platform knows it. */
export async function startAgent(
  platform: TestPlatform,
  name: string,
  args: readonly string[] = [],
): Promise<AgentChild & { readonly keyId: string; readonly token: string }> {
  const { id, token } = await platform.call(agentKeys.register, { name })
  const child = new AgentChild(token, args)
  await until(`${name} is there`, async () => (await statusOf(platform, name)) === 'CONNECTED')
  return Object.assign(child, { keyId: id, token })
}

/** As the platform sees it; undefined for one that it does not know. */
export async function statusOf(
  platform: Pick<TestPlatform, 'call'>,
  name: string,
): Promise<string | undefined> {
  const all = await platform.call(agents.list, {})
  return all.find((agent) => agent.name === name)?.health.status
}
