/** What is in the reports of all jobs, as plain data: the engine's threads use it without the schemas. */

const [jsonLines, csv] = ['application/jsonl', 'text/csv'] as const

export const jsonReport = <F extends string>(name: F) => ({ file: `${name}.jsonl`, type: jsonLines }) as const
export const csvReport = <F extends string>(name: F) => ({ file: `${name}.csv`, type: csv }) as const

/** Reports of a job, the file of each and its media type: of all paths, of some, and of the job as a whole. */
export const reportsOf = <R extends object>(some: R) =>
  ({
    FULL: jsonReport('full'),
    ...some,
    SUMMARY: { file: 'summary.json', type: 'application/json' },
  }) as const
