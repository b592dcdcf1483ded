import type { Properties } from './properties.ts'

const KiB = 1024
const MiB = 1024 * KiB

/**
 * The free-form properties that the driver honours, with the names that Hadoop's ABFS connector gave them and whole
 * numbers as text. Any other is refused by name: a setting that does nothing is worse than none. Bounds are inclusive.
 */
export const azureProperties = {
  'fs.azure.account.hns.enabled': {
    meaning:
      'Whether the account has a hierarchical namespace; without it the account is asked, which needs credentials that may (docs/AZURE.md)',
    values: ['', 'true', 'false'],
    default: '',
  },
  'fs.azure.io.retry.max.retries': {
    meaning: 'How often a request is repeated after throttling, a server error or a network error',
    unit: 'retries',
    default: 4,
    min: 0,
    max: 30,
  },
  'fs.azure.io.retry.min.backoff.interval': {
    meaning:
      'Wait before the first retry; doubled for each further one, and shortened by up to half at random',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 60_000,
  },
  'fs.azure.io.retry.max.backoff.interval': {
    meaning: 'Longest wait between retries, also when the store asks for a longer one',
    unit: 'ms',
    default: 8_000,
    min: 1,
    max: 300_000,
  },
  'fs.azure.http.connection.timeout': {
    meaning: 'Longest time for a connection to be made',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'fs.azure.http.read.timeout': {
    meaning: 'Longest time without a byte sent or received on a connection that has a request under way',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'fs.azure.write.request.size': {
    meaning:
      'Largest file written with one request, and size of the parts of larger files where their number allows it',
    unit: 'bytes',
    default: 8 * MiB,
    min: 16 * KiB,
    max: 100 * MiB,
  },
  'fs.azure.read.request.size': {
    meaning: 'Most bytes that are read with one request',
    unit: 'bytes',
    default: 16 * MiB,
    min: 16 * KiB,
    max: 100 * MiB,
  },
  'fs.azure.list.max.results': {
    meaning: 'Entries in one page of a listing',
    unit: 'entries',
    default: 5_000,
    min: 1,
    max: 5_000,
  },
  'fs.azure.concurrentRequestCount.out': {
    meaning: 'Requests that one thread has under way at once, and connections that it keeps',
    unit: 'requests',
    default: 16,
    min: 1,
    max: 256,
  },
} as const satisfies Properties
