import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

/** Gets Hadoop's client of S3, with the parts of Amazon's that it needs, from Maven Central into the cache folder. */
export const setup = (): Promise<void> => provide('S3A_CLASSES', () => classesOf('s3a-client', 'Hadoop S3A'))
