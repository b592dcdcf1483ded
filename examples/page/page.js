/** Answers with what is written on the page, for as long as it is open. What it sends is in docs/PROTOCOL.md. */
import { connect, Events, JSONCodec } from './nats.js'

const json = JSONCodec()
const $ = (id) => document.getElementById(id)
const registration = {
  prefix: 'page',
  name: 'A page',
  version: '1.0.0',
  instance: crypto.randomUUID(),
  endpoints: [
    {
      name: 'read',
      summary: 'What is written on the page',
      output: {
        type: 'object',
        properties: { text: { type: 'string' }, asked: { type: 'integer' } },
        required: ['text', 'asked'],
      },
    },
  ],
}
const { prefix, instance } = registration
let asked = 0

async function start(servers, token) {
  const keyId = token.split('.')[2]
  const connection = await connect({
    servers,
    token,
    inboxPrefix: `_INBOX.${keyId}`,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
  })
  const ask = async (verb, body) => {
    const reply = await connection.request(`gantry.services.v1.extensions.${verb}`, json.encode(body), {
      timeout: 6_000,
      // The client's own reply subjects can be guessed.
      noMux: true,
      reply: `_INBOX.${keyId}.${crypto.randomUUID()}`,
    })
    const answer = json.decode(reply.data)
    if (reply.headers?.get('Nats-Service-Error-Code'))
      throw Object.assign(new Error(answer.message), { code: answer.code })
    return answer
  }
  const register = async () => {
    const answer = await ask('register', registration)
    $('state').textContent = 'registered'
    return answer
  }
  const told = (error) => ($('state').textContent = error.message)

  connection.subscribe(`gantry.extensions.${prefix}.read`, {
    queue: 'gantry',
    callback: (error, message) => {
      if (error !== null || !message.reply?.startsWith('_INBOX.')) return
      asked += 1
      $('asked').textContent = asked
      message.respond(json.encode({ text: $('text').value, asked }))
    },
  })
  const { heartbeatEveryMs } = await register()
  setInterval(() => {
    ask('heartbeat', { prefix, instance }).catch((error) =>
      error.code === 'NOT_FOUND' ? register().catch(told) : told(error),
    )
  }, heartbeatEveryMs)
  for await (const { type } of connection.status()) {
    if (type === Events.Disconnect) $('state').textContent = 'connection lost'
    if (type === Events.Reconnect) await register().catch(told)
  }
}

$('connect').addEventListener('submit', (event) => {
  event.preventDefault()
  const fields = new FormData(event.target)
  start(fields.get('servers'), fields.get('token')).catch((error) => ($('state').textContent = error.message))
})
