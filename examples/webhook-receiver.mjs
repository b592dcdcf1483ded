/**
 * Receives alerts and checks their signatures: `WEBHOOK_SECRET=whsec_… node examples/webhook-receiver.mjs 9090`. What a
 * message looks like is in docs/OPERATIONS.md.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace('whsec_', ''), 'base64')
if (key.length === 0) throw new Error('WEBHOOK_SECRET is missing: set it to the secret of the webhook')

/** Longest age of a message: an older one was recorded by somebody and sent again. */
const maxAgeSeconds = 300

/** The signature is over the id, the time and the body, byte for byte. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given = '' } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= maxAgeSeconds)) return false
  const wanted = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  const isSame = (one) => one.length === wanted.length && timingSafeEqual(one, wanted)
  return given.split(' ').some((one) => isSame(Buffer.from(one)))
}

const server = createServer((request, response) => {
  receive(request, response).catch((error) => response.destroy(error))
})

async function receive(request, response) {
  const body = await text(request)
  if (!isGenuine(request.headers, body)) {
    response.writeHead(401).end()
    return
  }
  // Respond first: a message without a response within 10 s is sent again, with the same webhook-id.
  response.writeHead(204).end()
  const { type, data } = JSON.parse(body)
  console.log(type === 'alert.test' ? type : `${type} ${data.severity} ${data.rule}: ${data.summary}`)
}

server.listen(Number(process.argv[2] ?? 9090), '127.0.0.1', () =>
  console.log(`webhook-receiver listens on port ${server.address().port}`),
)
