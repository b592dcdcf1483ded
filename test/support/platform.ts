import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { call } from '../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import type { Reach } from '../../config/reach.ts'
import type { Log } from '../../broker/common/log.ts'
import { findNatsServer } from '../../broker/server/nats-server.ts'
import { type Platform, startPlatform } from '../../cli/assembly/platform.ts'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { files, type HttpServerName, httpServers, loopback } from '../../subjects/kit/names.ts'

/** Tests say what they see in assertions; the platform's own log shows with GANTRY_TEST_LOG=debug. */
export const testLog: Log = pino({ level: process.env['GANTRY_TEST_LOG'] ?? 'silent' }, pino.destination(2))

/** Below those that the system gives to clients, which would take one of ours between the look at it and its use. */
const ports = { first: 15_000, count: 15_000 }

/** Test files that run at the same time take theirs from parts of their own. */
const parts = 8
const part = Number(process.env['VITEST_POOL_ID'] ?? 0) % parts
const given = new Set<number>()

/** A port that nobody uses at the moment, and that was given to nobody here: it may be used only later. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = ports.first + part + parts * randomInt(Math.floor(ports.count / parts))
    if (given.has(port)) continue
    given.add(port)
    const probe = createServer().listen(port, loopback)
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
}

/** A configuration folder with ports of its own, a new one unless it is given; removed by its owner. */
export async function createHome(
  messaging: object = {},
  home = mkdtempSync(join(tmpdir(), 'gantry-test-')),
): Promise<string> {
  const ports = { port: await freePort(), websocket_port: await freePort() }
  writeFileSync(
    join(home, files.messaging),
    JSON.stringify({ max_mem: '64MiB', max_file: '1GiB', ...ports, ...messaging }),
  )
  for (const name of Object.keys(httpServers) as HttpServerName[]) {
    const { propertiesFile, addressKey, portKey } = httpServers[name]
    const path = join(home, propertiesFile)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, `${addressKey}=${loopback}\n${portKey}=${await freePort()}\n`)
  }
  return home
}

/** The nats-server that all tests run. */
export const natsServerPath = async (): Promise<string> => (await findNatsServer({ log: testLog })).path

export interface TestPlatform extends Platform, AsyncDisposable {
  readonly home: string
  /** Connection of the local operator. */
  readonly operator: NatsConnection
  /** Calls a capability as the local operator. */
  call<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>>
  /** Calls over REST as the local operator, unless the headers say otherwise; the body is sent as JSON. */
  rest(
    server: HttpServerName,
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<{ status: number; body: unknown; headers: Headers }>
}

/** Has the folders of what test files share, and is removed when all have ended (`nats-server.setup.ts`). */
export const sharedFolder = (runner: number): string => join(tmpdir(), `gantry-shared-${runner}`)

let shared: Promise<TestPlatform> | undefined

/**
 * One platform for all test files of this process, which ends with it: for those that change nothing but what is their
 * own. They give names, keys and extensions a prefix that no other file has, and expect nothing of lists as a whole.
 * Disposing of it does nothing.
 */
export function sharedPlatform(): Promise<TestPlatform> {
  shared ??= (async () => {
    mkdirSync(sharedFolder(process.ppid), { recursive: true })
    const home = await createHome({}, mkdtempSync(join(sharedFolder(process.ppid), 'home-')))
    return { ...(await startTestPlatform({ home })), [Symbol.asyncDispose]: () => Promise.resolve() }
  })()
  return shared
}

/** A whole platform in this process, on a real nats-server, with a folder and ports of its own. */
export async function startTestPlatform(
  options: {
    home?: string
    log?: Log
    kinds?: readonly string[]
    uiFolder?: string
    reach?: Reach
  } = {},
): Promise<TestPlatform> {
  const home = options.home ?? (await createHome())
  const { log = testLog, kinds = [], uiFolder, reach } = options
  const natsServer = await natsServerPath()
  const platform = await startPlatform({
    home,
    natsServer,
    kinds,
    log,
    ...(uiFolder !== undefined && { uiFolder }),
    ...(reach !== undefined && { reach }),
  })
  platform.markPasswordsSeen()
  const operator = await connectWithToken(platform.tcpUrl, platform.operatorToken)
  return {
    ...platform,
    home,
    operator,
    call: (contract, input) => call(operator, contract, input),
    rest: async (server, method, path, { body, headers } = {}) => {
      const response = await fetch(`${platform.httpUrls[server]}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(headers ?? { authorization: `Bearer ${platform.operatorToken}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        body: text === '' ? undefined : JSON.parse(text),
        headers: response.headers,
      }
    },
    [Symbol.asyncDispose]: async () => {
      await operator.close()
      await platform.stop()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
    },
  }
}
