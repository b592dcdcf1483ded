/**
 * The peer of benches with stores behind HTTP: a client that puts objects of 4 KiB from memory as fast as the service takes them,
 * and does nothing else. Prints seconds and its own seconds of processor as JSON, and ends.
 * Arguments: azure, s3, gcs or hdfs, host:port, account, key, container, number of objects, requests at once.
 */
import { hash } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { SharedKeySigner } from '../services/drivers/azure-blob/signing.ts'
import { S3Signer, signingTime } from '../services/drivers/s3a/signing.ts'

const [kind = '', endpoint = '', account = '', key = '', container = '', count = '0', atOnce = '1'] =
  process.argv.slice(2)
const [host, port] = endpoint.split(':')
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) })
const body = Buffer.alloc(4_096, 'content ')

type Headers = Record<string, string | number>

function send(
  to: { readonly method?: string; readonly port: string | undefined; readonly path: string },
  status: number,
  headers: Headers,
  content?: Buffer,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, agent, method: 'PUT', headers, ...to }, (answer) => {
      answer.resume().once('end', () => {
        if (answer.statusCode === status) resolve(answer)
        else reject(new Error(`the service answered ${answer.statusCode}`))
      })
    })
    asked.once('error', reject)
    asked.end(content)
  })
}

function azure() {
  const signer = new SharedKeySigner(account, key)
  return (name: string) => {
    const path = `/${account}/${container}/${name}`
    const storeHeaders = [
      ['x-ms-blob-type', 'BlockBlob'],
      ['x-ms-date', new Date().toUTCString()],
      ['x-ms-version', '2021-12-02'],
    ] as const
    const signable = { method: 'PUT', path, query: [], contentLength: body.length, storeHeaders } as const
    const authorization = signer.authorization(signable)
    const headers = { authorization, 'content-length': body.length, ...Object.fromEntries(storeHeaders) }
    return send({ port, path }, 201, headers, body)
  }
}

function s3() {
  const signer = new S3Signer({ accessKey: account, secretKey: key }, 'us-east-1')
  return (name: string) => {
    const path = `/${container}/${name}`
    const time = signingTime(Date.now())
    const payload = hash('sha256', body)
    const signed = [
      ['host', endpoint],
      ['x-amz-content-sha256', payload],
      ['x-amz-date', time],
    ] as const
    const { authorization } = signer.sign({ method: 'PUT', path, query: '', headers: signed, payload, time })
    const headers = { authorization, 'content-length': body.length, ...Object.fromEntries(signed) }
    return send({ port, path }, 200, headers, body)
  }
}

/** The name node says where the data node is that takes it. */
function hdfs() {
  return async (name: string) => {
    const query = `op=CREATE&overwrite=true&user.name=${account}`
    const path = `/webhdfs/v1/${container}/${name}?${query}`
    const { headers } = await send({ port, path }, 307, { 'content-length': 0 })
    const to = new URL(headers.location ?? '')
    return send(
      { port: to.port, path: to.pathname + to.search },
      201,
      { 'content-length': body.length },
      body,
    )
  }
}

/** A service that asks nobody who he is. */
const gcs = () => (name: string) => {
  const path = `/upload/storage/v1/b/${container}/o?uploadType=media&name=${encodeURIComponent(name)}`
  const headers = { 'content-type': 'application/octet-stream', 'content-length': body.length }
  return send({ method: 'POST', port, path }, 200, headers, body)
}

const kinds: Readonly<Record<string, () => (name: string) => Promise<unknown>>> = { azure, s3, gcs, hdfs }
const put = kinds[kind]!()
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
