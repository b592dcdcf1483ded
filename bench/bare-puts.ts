/**
 * The peer of the bench with Azurite: a client that puts blobs of 4 KiB from memory as fast as the service takes them, and
 * does nothing else. Prints seconds and its own seconds of processor as JSON, and ends.
 * Arguments: host:port, account, key, container, number of blobs, requests at once.
 */
import { Agent, request } from 'node:http'
import { SharedKeySigner } from '../services/drivers/azure-blob/signing.ts'

const [endpoint = '', account = '', key = '', container = '', count = '0', atOnce = '1'] =
  process.argv.slice(2)
const [host, port] = endpoint.split(':')
const signer = new SharedKeySigner(account, key)
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) })
const body = Buffer.alloc(4_096, 'content ')

function put(name: string): Promise<void> {
  const path = `/${account}/${container}/${name}`
  const storeHeaders = [
    ['x-ms-blob-type', 'BlockBlob'],
    ['x-ms-date', new Date().toUTCString()],
    ['x-ms-version', '2021-12-02'],
  ] as const
  const signable = { method: 'PUT', path, query: [], contentLength: body.length, storeHeaders } as const
  const headers = {
    authorization: signer.authorization(signable),
    'content-length': body.length,
    ...Object.fromEntries(storeHeaders),
  }
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, agent, method: 'PUT', path, headers }, (answer) => {
      answer.resume().once('end', () => {
        if (answer.statusCode === 201) resolve()
        else reject(new Error(`Azurite answered ${answer.statusCode}`))
      })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

const names = Array.from({ length: Number(count) }, (_, index) => `${index % 50}/file-${index}`).values()
const started = performance.now()
const before = process.cpuUsage()
const lane = async () => {
  for (const name of names) await put(name)
}
await Promise.all(Array.from({ length: Number(atOnce) }, lane))
const { user, system } = process.cpuUsage(before)
const result = { seconds: (performance.now() - started) / 1_000, processorSeconds: (user + system) / 1e6 }
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)
