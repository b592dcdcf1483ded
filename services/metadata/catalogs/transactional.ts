import type { Table } from '../../../subjects/metadata/objects.ts'

/** Whether Hive writes to a table in transactions (ACID). */
export const isTransactional = ({ parameters }: Pick<Table, 'parameters'>): boolean =>
  parameters['transactional']?.toLowerCase() === 'true'
