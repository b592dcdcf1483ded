import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { expect, onTestFinished } from 'vitest'
import { Transport } from '../../../../services/drivers/http/transport.ts'
import { makeCertificates, noCertificates } from '../../../support/certificates.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { testUnless } from '../../../support/unless.ts'

const limits = { connectTimeoutMs: 20_000, idleTimeoutMs: 20_000, connections: 1 }

testUnless(
  noCertificates,
  'a store behind TLS: its certificate is checked, large bodies arrive, a later connection goes on with the session',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-tls-'))
    const trusted = getCACertificates('default')
    const { ca, certificate, key } = makeCertificates(folder)
    const isReused: boolean[] = []
    const server = createServer(
      { cert: readFileSync(certificate), key: readFileSync(key) },
      (request, response) => {
        isReused.push((request.socket as TLSSocket).isSessionReused())
        const pieces: Buffer[] = []
        request.on('data', (piece: Buffer) => pieces.push(piece))
        request.on('end', () => response.writeHead(200, { connection: 'close' }).end(Buffer.concat(pieces)))
      },
    )
    const listening = await listenOnLoopback(server)
    const to = (host: string) => new Transport({ secure: true, host, port: listening.port }, limits)
    const transports = [to('localhost'), to('127.0.0.1')]
    onTestFinished(async () => {
      for (const transport of transports) transport.close()
      setDefaultCACertificates(trusted)
      await listening[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    })
    const body = Buffer.alloc(1_000_000, 'content ')
    const put = {
      method: 'PUT',
      target: '/',
      headers: ['host', 'store', 'content-length', String(body.length)],
      body,
    }
    await expect(to('localhost').exchange(put)).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    })
    setDefaultCACertificates([...trusted, readFileSync(ca, 'utf8')])
    for (const transport of transports) {
      expect((await transport.exchange(put)).body.equals(body)).toBe(true)
      expect((await transport.exchange(put)).body.equals(body)).toBe(true)
    }
    expect(isReused).toEqual([false, true, false, true])
  },
)
