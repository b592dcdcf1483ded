import { expect } from 'vitest'
import { contentOf, failureOf } from '../../conformance/driver-store.ts'
import { makeCertificates, noCertificates } from '../../support/certificates.ts'
import { noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testUnless } from '../../support/unless.ts'

testUnless(
  noHdfs ?? noCertificates,
  'over TLS, with name nodes and data nodes that an authority of the cluster vouches for',
  async () => {
    await using cluster = await startHdfs({ 'dfs.http.policy': 'HTTPS_ONLY' })
    await using driver = openHdfs(cluster.options())
    await driver.put(Buffer.from('file'), Buffer.from('content'), {})
    expect((await contentOf(driver, Buffer.from('file'))).toString()).toBe('content')
    const { caCertificate: _, ...options } = cluster.options({ 'dfs.http.client.retry.max.attempts': '0' })
    await using unaware = openHdfs(options)
    expect(await failureOf(unaware.stat(Buffer.from('file')))).toBe('unreachable')
    const folder = mkdtempSync(join(tmpdir(), 'gantry-another-'))
    const caCertificate = readFileSync(makeCertificates(folder, 'another').ca, 'utf8')
    rmSync(folder, { recursive: true })
    await using deceived = openHdfs({ ...options, caCertificate })
    expect(await failureOf(deceived.stat(Buffer.from('file')))).toBe('unreachable')
  },
  120_000,
)
