import { journalAccount, journalCommodity, journalText, remembered } from './book-names.ts';
import { dayOf, isoTime, type JournalFormat } from './journal-format.ts';

/** Journals of hledger and of ledger, which differ in their declarations. */
export function createPlainJournal(tool: 'hledger' | 'ledger'): JournalFormat {
  const account = remembered(journalAccount);
  const commodity = remembered(journalCommodity);
  const posting = (of: { account: string; symbol: string; amount: string }) =>
    `    ${account(of.account)}  ${of.amount} ${commodity(of.symbol)}\n`;
  return {
    head(lines) {
      const remarks = lines.map((line) => `; ${line}\n`).join('');
      return `${remarks}${tool === 'hledger' ? 'decimal-mark .' : 'tag time\ntag hash'}\n\n`;
    },
    coin({ symbol, scale }) {
      const sample = `1.${'0'.repeat(scale)} ${commodity(symbol)}`;
      if (tool === 'hledger') return `commodity ${sample}\n`;
      return `commodity ${commodity(symbol)}\n    format ${scale === 0 ? `1 ${commodity(symbol)}` : sample}\n`;
    },
    account: (name) => `account ${account(name)}\n`,
    transaction(postings) {
      const [first] = postings;
      if (first === undefined) return '';
      const { orderNo, bookedAt, stream, txHash } = first;
      return [
        `\n${dayOf(bookedAt)} * (${journalText(orderNo)}) ${journalText(stream)}\n`,
        `    ; time: ${isoTime(bookedAt)}\n`,
        ...(txHash === null ? [] : [`    ; hash: ${journalText(txHash)}\n`]),
        ...postings.map(posting),
      ].join('');
    },
    heading: (day, remark) => `\n${day} * ${remark}\n`,
    posting,
    dayEnd(day, custody, balances) {
      const lines = balances.map(({ symbol, reported }) => {
        const coin = commodity(symbol);
        return `    ${account(custody)}  0 ${coin} = ${reported} ${coin}\n`;
      });
      return `\n${day} * balances that the wallet reported\n${lines.join('')}`;
    },
    remark: (line) => `; ${journalText(line)}\n`,
  };
}
