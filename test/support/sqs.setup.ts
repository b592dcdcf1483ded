import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

/** Gets ElasticMQ, a server of SQS's protocol, from Maven Central into the cache folder. */
export const setup = (): Promise<void> => provide('ELASTICMQ_CLASSES', () => classesOf('sqs', 'ElasticMQ'))
