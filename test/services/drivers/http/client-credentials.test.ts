import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { ClientTokens } from '../../../../services/drivers/http/client-credentials.ts'

test('an answer that is longer than one with a token gives none', async () => {
  let bytes = 0
  const server = createServer((_request, answer) => {
    const padding = ' '.repeat(bytes)
    answer.end(JSON.stringify({ access_token: 'token', expires_in: 3_600, padding }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token`)
  const credentials = { endpoint, clientId: 'mover', proof: async () => ({}), fields: {} }
  const limits = { connectTimeoutMs: 5_000, idleTimeoutMs: 5_000, connections: 1 }
  const tokens = new ClientTokens(credentials, limits)
  try {
    bytes = 1024 * 1024
    await expect(tokens.get()).rejects.toThrow('longer than')
    bytes = 10
    expect(await tokens.get()).toBe('token')
  } finally {
    tokens.close()
    server.close()
  }
})
