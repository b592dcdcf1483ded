/**
 * An extension with nothing but the package `nats`: `GANTRY_TOKEN=… node examples/greeter.mjs`. What it sends is in
 * docs/PROTOCOL.md.
 */
import { connect, Events, headers } from 'nats'

const token = process.env.GANTRY_TOKEN ?? ''
const [, location = '', keyId] = token.split('.')
const { n: servers } = JSON.parse(Buffer.from(location, 'base64url').toString())
const connection = await connect({
  servers,
  token,
  inboxPrefix: `_INBOX.${keyId}`,
  maxReconnectAttempts: -1,
  ignoreAuthErrorAbort: true,
})

const registration = {
  prefix: 'greeter',
  name: 'Greeter',
  version: '1.0.0',
  instance: `greeter-${process.pid}`,
  endpoints: [
    {
      name: 'hello',
      summary: 'Greets somebody',
      input: {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 60 } },
        required: ['name'],
        additionalProperties: false,
      },
      output: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      errors: ['NOT_FOUND'],
    },
  ],
}
const { prefix, instance } = registration

/** Asks the platform; an answer that is an error has a header that says so. */
async function ask(verb, body) {
  const reply = await connection.request(`gantry.services.v1.extensions.${verb}`, JSON.stringify(body), {
    timeout: 6_000,
    // The client's own reply subjects can be guessed.
    noMux: true,
    reply: `_INBOX.${keyId}.${crypto.randomUUID()}`,
  })
  if (reply.headers?.get('Nats-Service-Error-Code'))
    throw Object.assign(new Error(reply.json().message), reply.json())
  return reply.json()
}

connection.subscribe(`gantry.extensions.${prefix}.hello`, {
  queue: 'gantry',
  callback: (error, message) => {
    if (error !== null || !message.reply?.startsWith('_INBOX.')) return
    const { name } = message.json()
    if (name !== 'nobody') return message.respond(JSON.stringify({ text: `Hello ${name}` }))
    const text = 'nobody is nobody'
    const head = headers()
    head.set('Nats-Service-Error', text)
    head.set('Nats-Service-Error-Code', '404')
    message.respond(JSON.stringify({ code: 'NOT_FOUND', message: text }), { headers: head })
  },
})

const register = () => ask('register', registration)
const { heartbeatEveryMs } = await register()
console.log('greeter is registered')

async function beat() {
  try {
    await ask('heartbeat', { prefix, instance })
  } catch (error) {
    if (error.code === 'NOT_FOUND') await register().catch(console.error)
  }
}
const heart = setInterval(() => void beat(), heartbeatEveryMs)

async function reconnects() {
  for await (const { type } of connection.status()) {
    if (type === Events.Reconnect) await register().catch(console.error)
  }
}
reconnects().catch(console.error)

async function stop() {
  clearInterval(heart)
  await ask('deregister', { prefix, instance })
  await connection.drain()
}
process.once('SIGINT', () => void stop())
process.once('SIGTERM', () => void stop())
