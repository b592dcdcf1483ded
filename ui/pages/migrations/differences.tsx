import { Group, Loader, Pagination, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import { keyOf, mayCall } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { Action } from '../../kit/action.tsx'
import { DialogButton } from '../../kit/dialog-button.tsx'
import { Download } from '../../kit/download.tsx'
import { Failure } from '../../kit/failure.tsx'
import { countOf, countText, wordsOf } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { differenceKinds, resultText } from './verification-text.ts'

/** A line of the report, as far as it is shown. */
interface Difference {
  readonly scanResult: string
  readonly sourcePath: string
  readonly sourceSize: number | null
  readonly targetSize: number | null
  readonly detail: string | null
}

const perPage = 20

/** What differs, in the words of the platform; what is on one side only has a size. */
const differenceText = ({ detail, sourceSize, targetSize }: Difference): string =>
  detail ??
  [
    ...(sourceSize === null ? [] : [`at the source: ${sizeText(sourceSize)}`]),
    ...(targetSize === null ? [] : [`at the target: ${sizeText(targetSize)}`]),
  ].join(', ')

const columns: readonly Column<Difference>[] = [
  { label: 'Path', cell: ({ sourcePath }) => <Named>{sourcePath}</Named>, width: 2 },
  { label: 'Class', cell: ({ scanResult }) => resultText(scanResult) },
  { label: 'Difference', cell: (one) => <Named>{differenceText(one)}</Named>, width: 2 },
]

/** A button that shows what a verification found, beside the whole as a file. */
export function Differences({
  verification,
  path,
}: {
  readonly verification: Verification
  /** Of the migration. */
  readonly path: string
}) {
  const session = useSession()
  const { id, migrationId, totalDiscrepancies } = verification
  const { isCopied, advice } = differenceKinds(verification)
  if (totalDiscrepancies === 0 || !mayCall(session, verifications.report)) return null
  return (
    <DialogButton button="Show differences" title="Differences" isSmall size="xl">
      {(close) => (
        <>
          {advice !== '' && (
            <Text size="sm" mb="sm">
              {advice}
            </Text>
          )}
          {isCopied && (
            <>
              <Text size="sm" mb="sm">
                A rescan that compares content copies again what differs at the target, and nothing else.
              </Text>
              <Action
                contract={migrations['add-pending-region']}
                input={{ migrationId, path, actionPolicy: 'SkipIfDigestMatch' }}
                done="The rescan was requested. Verify again when it is done."
                onDone={close}
              >
                Copy again what differs
              </Action>
            </>
          )}
          <Shown verificationId={id} total={totalDiscrepancies} />
        </>
      )}
    </DialogButton>
  )
}

function Shown({ verificationId, total }: { readonly verificationId: string; readonly total: number }) {
  const session = useSession()
  const [page, setPage] = useState(1)
  const [scanResult, setResult] = useState<string | null>(null)
  const input = { verificationId, reportId: 'DISCREPANCIES_JSON' } as const
  const { data, error } = useQuery({
    queryKey: keyOf(verifications.report, input),
    queryFn: async () => {
      const part = await session.call(verifications.report, input)
      // The first part is more than anybody reads in a page; it may end within a line.
      const lines = part.content.split('\n')
      if (part.next !== undefined) lines.pop()
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Difference)
    },
  })
  if (error) return <Failure title="The differences cannot be shown" error={error} />
  if (data === undefined) return <Loader size="sm" aria-label="Loading" />
  const classes = Map.groupBy(data, (one) => one.scanResult)
  const wanted = scanResult === null ? data : (classes.get(scanResult) ?? [])
  const first = (page - 1) * perPage
  const shown = wanted.slice(first, first + perPage)
  return (
    <>
      {classes.size > 1 && (
        <Select
          label="Class"
          placeholder="any"
          clearable
          mb="xs"
          data={Array.from(classes, ([value, its]) => ({
            value,
            label: `${resultText(value)} (${countText(its.length)})`,
          }))}
          value={scanResult}
          onChange={(value) => {
            setResult(value)
            setPage(1)
          }}
        />
      )}
      <Group justify="space-between" mb="xs">
        <Text size="sm" role="status">
          {`${countText(first + 1)} to ${countText(first + shown.length)} of ${countOf(scanResult === null ? total : wanted.length, 'difference')}.`}
          {data.length < total && ` The first ${countText(data.length)} can be shown; download the others.`}
        </Text>
        <Download
          contract={verifications.report}
          input={{ verificationId, reportId: 'DISCREPANCIES_CSV' }}
          isSmall
        >
          Download as CSV
        </Download>
      </Group>
      <Table
        label="Differences"
        rows={shown}
        columns={columns}
        idOf={({ scanResult, sourcePath }) => `${scanResult} ${sourcePath}`}
      />
      {wanted.length > perPage && (
        <Pagination
          mt="sm"
          size="sm"
          total={Math.ceil(wanted.length / perPage)}
          value={page}
          onChange={setPage}
          getControlProps={(control) => ({ 'aria-label': `${wordsOf(control)} page` })}
          getItemProps={(number) => ({ 'aria-label': `Page ${number}` })}
        />
      )}
    </>
  )
}
