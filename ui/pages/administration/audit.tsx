import { Alert, Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { audit, type AuditRecord, operationText } from '../../../subjects/access/audit.ts'
import type { Input, Output } from '../../../subjects/kit/contract.ts'
import { keyOf, mayCall } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { useSession } from '../../data/session-context.ts'
import { Clamped } from '../../kit/clamped.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Filters } from '../../kit/filters.tsx'
import { countOf } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { useFilters } from '../../kit/use-param.ts'
import { timeColumn } from '../../kit/time-column.tsx'

const columns: readonly Column<AuditRecord & { readonly sequence: number }>[] = [
  timeColumn('Time', ({ time }) => time),
  {
    label: 'User',
    cell: ({ user, kind, keyName }) =>
      user === undefined ? (
        kind
      ) : (
        <>
          <Named>{user}</Named>
          {keyName !== undefined && (
            <>
              {' '}
              (key <Named>{keyName}</Named>)
            </>
          )}
        </>
      ),
    width: 1.2,
  },
  { label: 'Operation', cell: ({ what }) => <Named>{operationText(what)}</Named>, width: 1.5 },
  {
    label: 'Object',
    cell: ({ object = '', path, reason }) => (
      <Named>{[object, path, reason].filter(Boolean).join(' ')}</Named>
    ),
    width: 1.3,
  },
  { label: 'Details', cell: ({ details = '' }) => <Clamped>{details}</Clamped>, width: 1.9 },
  { label: 'Address', cell: ({ from = '' }) => <Named>{from}</Named>, width: 0.9 },
  {
    label: 'Result',
    cell: ({ result, count }) => (
      <>
        <Status of={result} />
        {count !== undefined && ` × ${count}`}
      </>
    ),
  },
]

export default function AuditPage() {
  const session = useSession()
  const { verdict, isPending, verify } = useVerdict()
  const [filter, setFilter] = useFilters<Input<(typeof audit)['list']>>()
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: keyOf(audit.list, { pages: filter }),
    queryFn: ({ pageParam }) =>
      session.call(audit.list, { ...filter, ...(pageParam !== undefined && { after: pageParam }) }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => next,
  })
  const records = data?.pages.flatMap((page) => page.records) ?? []
  return (
    <Page
      title="Audit log"
      error={error}
      contract={audit.list}
      input={filter}
      actions={
        mayCall(session, audit.verify) && (
          <Button onClick={() => void verify()} loading={isPending}>
            Verify the audit log
          </Button>
        )
      }
    >
      {verdict && (
        <Alert role="status" color={verdict.intact ? 'green' : 'red'} p="xs" mb="md" className="name">
          {verdict.intact
            ? `Intact: ${countOf(verdict.records, 'record')}${verdict.fromFirst ? ', including the first record' : ''}. Hash: ${verdict.hash ?? '–'}`
            : `Broken at record ${verdict.brokenAt ?? '?'}: ${verdict.problem ?? ''}`}
        </Alert>
      )}
      <Filters
        contract={audit.list}
        fields={['what', 'user', 'object', 'result', 'since', 'until']}
        values={filter}
        onChange={setFilter}
      />
      {data !== undefined && records.length === 0 && !hasNextPage ? (
        <Empty>No record matches the filters.</Empty>
      ) : (
        <Table label="Audit log" rows={records} columns={columns} idOf={({ sequence }) => `${sequence}`} />
      )}
      {hasNextPage && (
        <Button variant="default" mt="sm" loading={isFetching} onClick={() => void fetchNextPage()}>
          Load older records
        </Button>
      )}
    </Page>
  )
}

type Verdict = Output<(typeof audit)['verify']>

/** Of the whole chain, in the pages that it is answered in. */
function useVerdict() {
  const session = useSession()
  const [verdict, setVerdict] = useState<Verdict>()
  const [isPending, setPending] = useState(false)
  const verify = async () => {
    setPending(true)
    try {
      let records = 0
      let page: Verdict = await session.call(audit.verify, {})
      records += page.records
      while (page.intact && page.next !== undefined) {
        page = await session.call(audit.verify, { after: page.next })
        records += page.records
      }
      setVerdict({ ...page, records })
    } catch (error) {
      reportOutcome('The audit log could not be verified', error)
    }
    setPending(false)
  }
  return { verdict, isPending, verify }
}
