import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const open = (server: HttpServerName): Socket => {
  const { hostname, port } = new URL(platform.httpUrls[server])
  return connect(Number(port), hostname)
}

test.concurrent.each(['platform', 'migrator'] as const)(
  'half a header is answered and closed within a minute (%s)',
  async (server) => {
    const socket = open(server)
    socket.write('GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nX-Ha')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('did not arrive in time')
  },
  60_000,
)
