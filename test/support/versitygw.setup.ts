import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../broker/server/nats-server.ts'
import { runProgram } from '../../broker/server/run-program.ts'

const version = 'v1.8.0'
/** Where Go's own archive is unpacked, which no PATH knows. */
const usualGo = '/usr/local/go/bin/go'
const probeTimeoutMs = 20_000
/** A minute and a half of compiling where nothing else runs. */
const buildTimeoutMs = 10 * 60_000

/**
 * Builds versitygw, an S3 server, with Go from the module proxy into the cache folder, before any test: that takes longer than
 * a test may. Tests find it in `VERSITYGW`, or why it cannot run here in `VERSITYGW_MISSING`.
 */
export async function setup(): Promise<void> {
  try {
    process.env['VERSITYGW'] = await versitygw()
  } catch (error) {
    process.env['VERSITYGW_MISSING'] = (error as Error).message
  }
}

/** The program, built if it is not there. */
export async function versitygw(): Promise<string> {
  const folder = join(cacheFolder(process.env), 'peers', `versitygw-${version}`)
  const path = join(folder, 'versitygw')
  if (existsSync(path)) return path
  const go = await goProgram()
  const args = ['install', `github.com/versity/versitygw/cmd/versitygw@${version}`]
  const env = { GOBIN: folder, GOFLAGS: '' }
  await runProgram(go, args, { timeoutMs: buildTimeoutMs, env }).catch((cause: unknown) => {
    throw new Error(`go could not build versitygw ${version}: ${(cause as Error).message}`, { cause })
  })
  return path
}

async function goProgram(): Promise<string> {
  for (const go of ['go', usualGo])
    if (
      await runProgram(go, ['version'], { timeoutMs: probeTimeoutMs }).then(
        () => true,
        () => false,
      )
    )
      return go
  throw new Error('there is no go: install Go 1.21 or newer')
}
