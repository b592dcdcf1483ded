import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createPlain } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { HdfsDriver } from '../../../../services/drivers/hdfs/hdfs.ts'
import { makeCertificates, noCertificates } from '../../../support/certificates.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { testUnless } from '../../../support/unless.ts'

testUnless(
  noCertificates,
  'from TLS nothing is sent on in the clear, neither content nor a token',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-tls-'))
    const { ca, certificate, key } = makeCertificates(folder)
    const heard: string[] = []
    const plain = createPlain((request, response) => {
      heard.push(request.url ?? '')
      response.writeHead(201).end()
    })
    await using clear = await listenOnLoopback(plain)
    const server = createServer(
      { cert: readFileSync(certificate), key: readFileSync(key) },
      (request, response) => {
        const url = new URL(request.url ?? '', 'https://cluster')
        const at = `http://127.0.0.1:${clear.port}${url.pathname}?${url.searchParams.toString()}`
        if (url.searchParams.get('op') === 'CREATE') response.writeHead(307, { location: at }).end()
        else response.writeHead(200, { 'content-type': 'application/json' }).end('{"boolean":true}')
      },
    )
    await using secure = await listenOnLoopback(server)
    const driver = new HdfsDriver({
      defaultFS: `swebhdfs://localhost:${secure.port}`,
      caCertificate: readFileSync(ca, 'utf8'),
      additionalProperties: { 'dfs.http.client.retry.max.attempts': '0' },
    })
    const put = driver.put(Buffer.from('file'), Buffer.from('content'), {})
    await expect(put).rejects.toThrow(/redirects to what is no data node/)
    await driver.close()
    expect(heard).toEqual([])
    rmSync(folder, { recursive: true })
  },
)
