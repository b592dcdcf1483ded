import { rmSync } from 'node:fs'
import pino from 'pino'
import { findNatsServer } from '../../broker/server/nats-server.ts'
import { sharedFolder } from './platform.ts'

/** Finds or installs nats-server once, before any test: an installation takes longer than a test may. */
export async function setup(): Promise<void> {
  const log = pino({ level: 'warn' }, pino.destination(2))
  process.env['NATS_SERVER'] = (await findNatsServer({ log })).path
}

/** By now the processes of the tests have ended, and the servers end with them. */
export function teardown(): void {
  rmSync(sharedFolder(process.pid), { recursive: true, force: true, maxRetries: 10 })
}
