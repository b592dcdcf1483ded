import type { Table } from '../../../subjects/metadata/objects.ts'

/** Whether the partitions of a table have privileges of their own, as Hive has it said. */
export const hasPartitionPrivileges = ({ parameters, partitionKeys }: Table): boolean =>
  partitionKeys.length > 0 && parameters['PARTITION_LEVEL_PRIVILEGE']?.toLowerCase() === 'true'
