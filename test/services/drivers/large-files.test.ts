import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { openDriver } from '../../../services/drivers/index.ts'
import type {
  FilesystemKind,
  FilesystemOptions,
  FilesystemSpec,
} from '../../../subjects/filesystems/kinds.ts'

const [MiB, GiB, TiB] = [2 ** 20, 2 ** 30, 2 ** 40]
const key = Buffer.alloc(64).toString('base64')
const azure = { accountName: 'account', containerName: 'data' }

/** A filesystem of each kind; no server is asked. */
const options: { readonly [K in FilesystemKind]: FilesystemOptions<K> } = {
  local: { fsRoot: tmpdir() },
  'adls2-shared-key': { ...azure, sharedKey: key },
  'adls2-oauth2': {
    ...azure,
    oauthClientId: 'id',
    oauthClientSecret: 'secret',
    oauthClientEndpoint: 'https://login.microsoftonline.com/tenant/oauth2/v2.0/token',
  },
  'adls2-sas': { ...azure, sasToken: 'sv=2025-01-05&sig=x&sp=rwdlac&se=2099-01-01T00:00:00Z&sr=c' },
  s3a: { bucketName: 'data', accessKey: 'k', secretKey: 's' },
  hdfs: { defaultFS: 'hdfs://namenode.example:8020' },
  gcs: { bucketName: 'data', additionalProperties: { 'fs.gs.auth.type': 'UNAUTHENTICATED' } },
}

/** What each service takes, by its documentation. */
const limits: {
  readonly [K in FilesystemKind]: { most: number; partBytes: number; sizes: readonly number[] }
} = {
  local: { most: Infinity, partBytes: Infinity, sizes: [5 * TiB, 1_000 * TiB] },
  // "Scalability and performance targets for Blob storage".
  'adls2-shared-key': { most: 50_000, partBytes: 4_000 * MiB, sizes: [5 * TiB, 190 * TiB] },
  'adls2-oauth2': { most: 50_000, partBytes: 4_000 * MiB, sizes: [5 * TiB, 190 * TiB] },
  'adls2-sas': { most: 50_000, partBytes: 4_000 * MiB, sizes: [5 * TiB, 190 * TiB] },
  // "Amazon S3 multipart upload limits"; two numbers are used otherwise.
  s3a: { most: 9_998, partBytes: 5 * GiB, sizes: [5 * TiB] },
  // Blocks of a file (dfs.namenode.fs-limits.max-blocks-per-file); a part has whole blocks.
  hdfs: { most: 10_000, partBytes: Infinity, sizes: [5 * TiB, 1_000 * TiB] },
  // Two rounds of joining 32 objects.
  gcs: { most: 1_024, partBytes: 5 * TiB, sizes: [5 * TiB] },
}

test.each(Object.keys(options) as FilesystemKind[])(
  'parts of the largest files that %s takes stay within its limits',
  async (kind) => {
    // The options are those of the kind.
    const driver = await openDriver({ kind, options: options[kind] } as FilesystemSpec, 'target')
    const { most, partBytes, sizes } = limits[kind]
    const { sizeFor } = driver.capabilities.parts
    for (const size of sizes)
      for (const sizeBytes of [size, size - 1, size / 2 + 1]) {
        const bytes = sizeFor(sizeBytes)
        expect(Number.isSafeInteger(bytes), `${sizeBytes}`).toBe(true)
        expect(Math.ceil(sizeBytes / bytes), `parts of ${sizeBytes}`).toBeLessThanOrEqual(most)
        expect(bytes, `a part of ${sizeBytes}`).toBeLessThanOrEqual(partBytes)
        // Under a limit on bandwidth parts are small where that can be.
        expect(
          Math.ceil(sizeBytes / sizeFor(sizeBytes, 1)),
          `small parts of ${sizeBytes}`,
        ).toBeLessThanOrEqual(most)
        expect(driver.refuses(Buffer.from('file'), { type: 'file', sizeBytes })).toBeUndefined()
      }
    await driver.close()
  },
)

test.each([
  ['s3a', 5 * TiB + 1],
  ['gcs', 5 * TiB + 1],
  ['adls2-shared-key', 191 * TiB],
] as const)('a file that %s cannot hold is refused before anything is sent', async (kind, sizeBytes) => {
  const driver = await openDriver({ kind, options: options[kind] } as FilesystemSpec, 'target')
  expect(driver.refuses(Buffer.from('file'), { type: 'file', sizeBytes })).toMatch(/limit|larger|most/)
  await driver.close()
})
