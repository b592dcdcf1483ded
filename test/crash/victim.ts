import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { call } from '../../broker/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/connection.ts'
import type { Contract, Input, Output } from '../../subjects/contract.ts'
import { isGantryError } from '../../subjects/errors.ts'
import { files } from '../../subjects/names.ts'
import { natsServerPath } from '../support/platform.ts'
import { until } from '../support/until.ts'

const entry = fileURLToPath(new URL('../../cli/gantry.ts', import.meta.url))

/** A platform in a process of its own (`gantry up`), to be killed and started again in the same folder. */
export class Victim implements AsyncDisposable {
  readonly #home: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #lines: string[] = []
  #process: ChildProcess | undefined
  #connection: NatsConnection | undefined

  /** @param environment more variables for its process */
  constructor(home: string, environment: NodeJS.ProcessEnv = {}) {
    this.#home = home
    this.#environment = environment
  }

  /** Address of its broker. */
  get tcpUrl(): string {
    const { port } = JSON.parse(readFileSync(join(this.#home, files.messaging), 'utf8')) as { port: number }
    return `nats://127.0.0.1:${port}`
  }

  /** Whether it has logged such a line: a warning or worse. */
  hasLogged(pattern: RegExp): boolean {
    return this.#lines.some((line) => pattern.test(line))
  }

  /** Starts it; resolves when it says that it is ready. */
  async start(): Promise<void> {
    const env = {
      ...process.env,
      GANTRY_HOME: this.#home,
      NATS_SERVER: await natsServerPath(),
      ...this.#environment,
    }
    const child = spawn(process.execPath, [entry, 'up', '--log-level', 'warn'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#process = child
    createInterface(child.stderr).on('line', (line) => this.#lines.push(line))
    for await (const line of createInterface(child.stdout)) if (line.startsWith('Ctrl-C')) break
    child.stdout.resume()
    const token = readFileSync(join(this.#home, files.credentials), 'utf8').trim()
    this.#connection = await connectWithToken(this.tcpUrl, token)
  }

  /** Calls as the local operator; tries on while the broker or a service is away. */
  async call<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    const answer = await until('an answer', async () => {
      try {
        return { output: await call(this.#connection!, contract, input) }
      } catch (error) {
        if (isGantryError(error) && error.retryable) return undefined
        throw error
      }
    })
    return answer.output
  }

  /** kill -9 of the platform; resolves with the time of it when its nats-server has ended too. */
  async kill(): Promise<number> {
    const ended = once(this.#process!, 'exit')
    const broker = this.brokerPid()
    this.#process!.kill('SIGKILL')
    const killedAtMs = Date.now()
    await ended
    await this.#connection?.close()
    // No orphan: the server ends when its parent is gone.
    await until('the end of nats-server', () => broker === undefined || !isAlive(broker))
    return killedAtMs
  }

  /** kill -9 of nats-server; resolves with the time of it when the platform has started another by itself. */
  async killBroker(): Promise<number> {
    const killed = this.brokerPid()
    if (killed === undefined) throw new Error('there is no nats-server to kill')
    process.kill(killed, 'SIGKILL')
    const killedAtMs = Date.now()
    await until('another nats-server', () => ![undefined, killed].includes(this.brokerPid()))
    return killedAtMs
  }

  brokerPid(): number | undefined {
    try {
      const pid = Number(readFileSync(join(this.#home, 'run/nats-server.pid'), 'utf8'))
      return Number.isInteger(pid) && pid > 0 && isAlive(pid) ? pid : undefined
    } catch {
      return undefined
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGINT')
      await ended
    }
    await this.#connection?.close()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
