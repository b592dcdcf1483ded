import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { call } from '../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { loadListenOptions } from '../../http-edge/properties.ts'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { files } from '../../subjects/kit/names.ts'
import { natsServerPath } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { lastLine } from '../../cli/up/text.ts'

const entry = fileURLToPath(new URL('../../cli/gantry.ts', import.meta.url))

/** A platform in a process of its own (`gantry up`), to be killed and started again in the same folder. */
export class Victim implements AsyncDisposable {
  readonly #home: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #user: Pick<SpawnOptions, 'uid' | 'gid'>
  readonly #lines: string[] = []
  #process: ChildProcess | undefined
  #connection: NatsConnection | undefined

  /**
   * @param environment more variables for its process
   * @param user whose process it is; ours if it says nothing
   */
  constructor(
    home: string,
    environment: NodeJS.ProcessEnv = {},
    user: Pick<SpawnOptions, 'uid' | 'gid'> = {},
  ) {
    this.#home = home
    this.#environment = environment
    this.#user = user
  }

  get home(): string {
    return this.#home
  }

  /** Address of its broker. */
  get tcpUrl(): string {
    const { port } = JSON.parse(readFileSync(join(this.#home, files.messaging), 'utf8')) as { port: number }
    return `nats://127.0.0.1:${port}`
  }

  /** What it has logged: warnings and worse. */
  get logged(): readonly string[] {
    return this.#lines
  }

  /** Whether it has logged such a line. */
  hasLogged(pattern: RegExp): boolean {
    return this.#lines.some((line) => pattern.test(line))
  }

  /** Starts it; resolves when it says that it is ready. */
  async start(): Promise<void> {
    await this.begin()
    await this.isReady()
  }

  /** Starts its process. */
  async begin(): Promise<void> {
    const env = {
      ...process.env,
      GANTRY_HOME: this.#home,
      NATS_SERVER: await natsServerPath(),
      ...this.#environment,
    }
    const child = spawn(process.execPath, [entry, 'up', '--log-level', 'warn'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...this.#user,
    })
    this.#process = child
    createInterface(child.stderr).on('line', (line) => {
      this.#lines.push(line)
      if (process.env['CRASH_LOG'] !== undefined) console.log(line)
    })
  }

  /** Resolves when it says that it is ready; throws when it ends before. */
  async isReady(): Promise<void> {
    const { stdout } = this.#process!
    let ready = false
    for await (const line of createInterface(stdout!)) {
      ready = line === lastLine
      if (ready) break
    }
    if (!ready) throw new Error(`the platform did not start: ${this.#lines.slice(-5).join('\n')}`)
    stdout!.resume()
    await this.#connect()
  }

  async #connect(): Promise<NatsConnection> {
    await this.#connection?.close()
    const token = readFileSync(join(this.#home, files.credentials), 'utf8').trim()
    this.#connection = await connectWithToken(this.tcpUrl, token)
    return this.#connection
  }

  /** Asks over REST as the local operator, once. `message` is that of an error. */
  async get(path: string): Promise<{ readonly status: number; readonly message: string }> {
    const { host, port } = loadListenOptions(this.#home, 'platform')
    const authorization = `Bearer ${readFileSync(join(this.#home, files.credentials), 'utf8').trim()}`
    const response = await fetch(`http://${host}:${port}${path}`, { headers: { authorization } })
    const { message = '' } = (await response.json()) as { message?: string }
    return { status: response.status, message }
  }

  /** Calls as the local operator; tries on while the broker or a service is away. */
  async call<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    const answer = await until('an answer', async () => {
      try {
        return { output: await this.callOnce(contract, input) }
      } catch (error) {
        if (!isGantryError(error) || !error.retryable) throw error
        // A client that waits for its next try to connect would hide that the platform is there again.
        await this.#connection?.close()
        return undefined
      }
    })
    return answer.output
  }

  /** Calls as the local operator, once. */
  async callOnce<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    const connection = this.#connection
    if (connection !== undefined && !connection.isClosed()) return call(connection, contract, input)
    // It has given up while the broker was away.
    const another = await this.#connect().catch((cause: unknown) => {
      throw new GantryError('UNAVAILABLE', 'the broker is away', { cause })
    })
    return call(another, contract, input)
  }

  /** kill -9 of the platform; resolves with the time of it when its nats-server has ended too. */
  async kill(): Promise<number> {
    const ended = once(this.#process!, 'exit')
    if (this.#process!.exitCode !== null || !this.#process!.kill('SIGKILL'))
      throw new Error(`the platform had ended by itself: ${this.#lines.slice(-5).join('\n')}`)
    const killedAtMs = Date.now()
    await ended
    await this.#connection?.close()
    // No orphan: the server ends when its parent is gone.
    await until('the end of nats-server', () => this.brokerPid() === undefined)
    return killedAtMs
  }

  /** kill -9 of nats-server; resolves with the time of it when the platform has started another by itself. */
  async killBroker(): Promise<number> {
    const killed = this.brokerPid()
    if (killed === undefined) throw new Error('there is no nats-server to kill')
    process.kill(killed, 'SIGKILL')
    const killedAtMs = Date.now()
    // What it had taken is not answered any more: whoever waits for that is told at once.
    await this.#connection?.close()
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
    await this.#connection?.close()
    if (this.#process?.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGINT')
      await ended
    }
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
