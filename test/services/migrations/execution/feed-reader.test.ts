import { expect, test } from 'vitest'
import { feedReader, isReaderOf } from '../../../../services/migrations/execution/feed-reader.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const bucket = (options: Partial<FilesystemOptions<'s3a'>> = {}) =>
  ({
    kind: 's3a',
    options: { bucketName: 'data', accessKey: 'key', secretKey: 'secret', ...options },
  }) as const

const record = migrationRecord()
const reader = feedReader(record, { source: bucket(), target: bucket() })

test('whoever goes on with the same is the same reader, also with other secrets', () => {
  expect(feedReader(record, { source: bucket({ secretKey: 'another' }), target: bucket() })).toBe(reader)
})

test('once source or target lead elsewhere, what was told before counts no more', () => {
  const other = bucket({ bucketName: 'other' })
  expect(feedReader(record, { source: other, target: bucket() })).not.toBe(reader)
  expect(feedReader(record, { source: bucket(), target: other })).not.toBe(reader)
})

test('a position stays as long as its migration works by the same rules', () => {
  expect(reader.length).toBeLessThan(200)
  expect(isReaderOf([record])(reader)).toBe(true)
  expect(isReaderOf([migrationRecord({ generation: 2 })])(reader)).toBe(false)
  expect(isReaderOf([migrationRecord({ policy: 'SkipIfSizeMatch' })])(reader)).toBe(false)
})
