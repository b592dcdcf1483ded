import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { observability } from '../../subjects/observability/observability.ts'
import { usage } from '../../subjects/observability/usage.ts'
import { root } from '../cli/support.ts'
import { createKey } from './keys.ts'
import type { TestPlatform } from './platform.ts'
import { capabilitiesOf } from './example-extension.ts'

const reports = [observability.report.subject, usage.record.subject]

/** Starts a file of examples/ as its first lines say, and waits until it says that it is registered. */
export async function startExample(
  platform: TestPlatform,
  { file, prefix, program = process.execPath }: { file: string; prefix: string; program?: string },
): Promise<ChildProcess> {
  const { token } = await createKey(platform, capabilitiesOf(prefix, reports))
  const child = spawn(program, [join(root, 'examples', file)], {
    env: { ...process.env, GANTRY_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) if (line === `${prefix} is registered`) return child
  throw new Error(`${file} has ended`)
}

/** A clean stop ends the process, and takes the extension away. */
export async function stopExample(platform: TestPlatform, child: ChildProcess, status = 0): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([status, null])
  const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/all')
  expect(body).toEqual([])
}

/** Calls an endpoint over REST. @param path its prefix and name */
export async function callExample(platform: TestPlatform, path: string, body: unknown) {
  const answer = await platform.rest('platform', 'POST', `/api/v1/extensions/${path}`, { body })
  return { status: answer.status, body: answer.body }
}
