import { S3Driver } from '../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { whyMissing } from './provide.ts'
import { minioProgram, type S3Server, startS3Server, versitygwProgram } from './s3-server.ts'
import { testUnless } from './unless.ts'

export type { S3Server } from './s3-server.ts'

/** Why there is no S3 server here; undefined where there is one. */
export const noS3 = whyMissing('VERSITYGW')
/** A test with a real S3 server. */
export const s3Test = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(noS3, name, work, timeoutMs)

export const startS3 = (): Promise<S3Server> => startS3Server(process.env['VERSITYGW']!, versitygwProgram)

/** The servers that can be had. */
export const s3Servers = [
  { name: 'versitygw', missing: noS3, start: startS3 },
  {
    name: 'minio',
    missing: whyMissing('MINIO'),
    start: () => startS3Server(process.env['MINIO']!, minioProgram),
  },
] as const

/** A driver that is closed with its scope. */
export function openS3(options: FilesystemOptions<'s3a'>): S3Driver & AsyncDisposable {
  const driver = new S3Driver(options)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}
