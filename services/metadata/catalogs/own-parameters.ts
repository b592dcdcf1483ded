/** Parameters in which Hive, and whoever writes to a catalog in its name, keeps account of what was done. */
export const hiveOwnParameters: readonly string[] = [
  'transient_lastDdlTime',
  'last_modified_by',
  'last_modified_time',
  'numFiles',
  'numFilesErasureCoded',
  'numPartitions',
  'numRows',
  'rawDataSize',
  'totalSize',
  'COLUMN_STATS_ACCURATE',
  'STATS_GENERATED_VIA_STATS_TASK',
  'DO_NOT_UPDATE_STATS',
  // What the type of a table says as well.
  'EXTERNAL',
]
