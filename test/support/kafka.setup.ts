import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

/** Gets a broker of Kafka from Maven Central into the cache folder. */
export const setup = (): Promise<void> => provide('KAFKA_CLASSES', () => classesOf('kafka', 'Kafka'))
