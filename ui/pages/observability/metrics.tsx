import { SimpleGrid } from '@mantine/core'
import type { Input } from '../../../subjects/kit/contract.ts'
import { observability } from '../../../subjects/observability/observability.ts'
import { useAnswer } from '../../data/calls.ts'
import { AsCommand } from '../../kit/as-command.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Filters } from '../../kit/filters.tsx'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { countText } from '../../kit/format.ts'
import { MetricChart } from '../../kit/metric-chart.tsx'
import { Named } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { useFilters } from '../../kit/use-param.ts'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { UnstyledButton } from '@mantine/core'

type Query = Input<(typeof observability)['query_scalar_metrics']>

const everyMs = 30_000

const inBytes = (name: string) => /\bbytes\b/.test(name)

/** Everything that is measured, and how it went. */
export default function MetricsPage() {
  const { data = [], error, isSuccess } = useAnswer(observability.list, {}, { everyMs })
  const [query, setQuery] = useFilters<Query>()
  const chosen = data.find(({ name, source }) => name === query.name && source === query.source)
  const columns: readonly Column<(typeof data)[number]>[] = [
    {
      label: 'Name',
      cell: ({ name, source }) => (
        <UnstyledButton td="underline" fz="inherit" onClick={() => setQuery({ ...query, name, source })}>
          <Named>{name}</Named>
        </UnstyledButton>
      ),
      by: ({ name }) => name,
      width: 2,
    },
    { label: 'Source', cell: ({ source }) => <Named>{source}</Named>, by: ({ source }) => source },
    { label: 'Kind', cell: ({ kind }) => kind, by: ({ kind }) => kind },
    { label: 'Series', cell: ({ series }) => countText(series), by: ({ series }) => series, width: 0.7 },
    timeColumn('Updated', ({ updated }) => updated),
    { label: 'Description', cell: ({ help = '' }) => <Named>{help}</Named>, width: 2.5 },
  ]
  return (
    <Page title="Metrics" error={error} contract={observability.list}>
      {chosen && (
        <Section title={chosen.name}>
          <SimpleGrid cols={1}>
            <Filters
              contract={observability.query_scalar_metrics}
              fields={['since', 'step', 'aggregate', 'combine']}
              values={query}
              onChange={(change) => setQuery({ ...change, name: chosen.name, source: chosen.source })}
            />
          </SimpleGrid>
          <MetricChart
            label={chosen.name}
            query={query as Query}
            format={(value, isRate) => {
              const text = inBytes(chosen.name)
                ? sizeText(value)
                : countText(Math.round(value * 1_000) / 1_000)
              return isRate ? `${text}/s` : text
            }}
          />
          <AsCommand contract={observability.query_scalar_metrics} input={query} />
        </Section>
      )}
      {isSuccess && data.length === 0 && <Empty>There are no metrics that you can see.</Empty>}
      {data.length > 0 && (
        <Table
          label="Metrics"
          rows={data}
          columns={columns}
          idOf={({ name, source }) => `${source} ${name}`}
          searchedIn={({ name, source, help = '' }) => [name, source, help]}
        />
      )}
    </Page>
  )
}
