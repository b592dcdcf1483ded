import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { discoverHdfs } from '../../../../services/drivers/hdfs/discovery.ts'
import { siteFile } from '../../../support/site-file.ts'

afterEach(() => vi.unstubAllEnvs())

/** A folder of Hadoop's configuration that is this host's; gone with the scope. */
function configure(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-conf-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  vi.stubEnv('HADOOP_CONF_DIR', folder)
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

test('a cluster of two name nodes is found, with what has an effect', async () => {
  using host = configure({
    'core-site.xml': siteFile({ 'fs.defaultFS': 'hdfs://pair', 'io.file.buffer.size': '65536' }),
    'hdfs-site.xml': siteFile({
      'dfs.nameservices': 'pair',
      'dfs.ha.namenodes.pair': 'one,two',
      'dfs.namenode.http-address.pair.one': 'one.example:9870',
      'dfs.namenode.http-address.pair.two': 'two.example:9870',
      'dfs.blocksize': '134217728',
      'dfs.namenode.name.dir': '/secret/place',
    }),
  })
  const { options, message } = await discoverHdfs()
  expect(options).toMatchObject({
    defaultFS: 'hdfs://pair',
    additionalProperties: {
      'dfs.ha.namenodes.pair': 'one,two',
      'dfs.namenode.http-address.pair.two': 'two.example:9870',
      'dfs.blocksize': '134217728',
    },
  })
  expect(Object.keys(options.additionalProperties ?? {})).not.toContain('dfs.namenode.name.dir')
  expect(message).toBe(
    `hdfs://pair is the cluster in ${host.folder}/core-site.xml and ${host.folder}/hdfs-site.xml`,
  )
})

test('the older name of the address counts, the later file goes first, and references are told', async () => {
  using _ = configure({
    'core-site.xml': siteFile({ 'fs.default.name': 'hdfs://old:8020', 'dfs.replication': '2' }),
    'hdfs-site.xml': siteFile({ 'dfs.replication': '3', 'dfs.namenode.http-address': '${host}:9870' }),
  })
  const { options, message } = await discoverHdfs()
  expect(options).toEqual({
    defaultFS: 'hdfs://old:8020',
    additionalProperties: { 'dfs.replication': '3' },
  })
  expect(message).toMatch(/; dfs\.namenode\.http-address refers to other properties and must be given$/)
})

test.each([
  ['no file', {}, /there is no core-site\.xml or hdfs-site\.xml in .* set HADOOP_CONF_DIR/],
  ['no address', { 'hdfs-site.xml': siteFile({ 'dfs.replication': '3' }) }, /say nothing of fs\.defaultFS/],
  ['another text', { 'core-site.xml': 'fs.defaultFS=x' }, /core-site\.xml is not a Hadoop configuration/],
  [
    'entities',
    { 'core-site.xml': `<!DOCTYPE x [<!ENTITY a "b">]><configuration>&a;</configuration>` },
    /core-site\.xml is not a Hadoop configuration/,
  ],
  ['too much', { 'core-site.xml': ' '.repeat(2 ** 20 + 1) }, /has 1048577 bytes/],
])('with %s nothing is found, and why', async (_what, files, message) => {
  using _ = configure(files)
  await expect(discoverHdfs()).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    message: expect.stringMatching(message),
  })
})

test('a folder in place of a file is told', async () => {
  using host = configure({})
  mkdirSync(join(host.folder, 'core-site.xml'))
  await expect(discoverHdfs()).rejects.toThrow(/core-site\.xml cannot be read: EISDIR/)
})
