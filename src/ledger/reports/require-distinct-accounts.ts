import { LedgerError } from '../../kernel/errors.ts';
import { openingAccount } from './books.ts';

type Account = readonly [role: string, name: string];

/** Roles whose sub-accounts are part of them: each customer has one, and a balance of custody is asserted with all. */
const rolesOfSubaccounts = ['customers', 'custody'];

/** The account that no row of ledger.accounts names. */
const opening: Account = ['opening balances', openingAccount];

/**
 * Throws LedgerError `settings` if two roles of a chart of accounts (role and name of each) would be one account, or if
 * one lies among the sub-accounts of another: the postings of both could not be told apart afterwards.
 */
export function requireDistinctAccounts(chart: Iterable<Account>): void {
  const accounts = [...chart];
  for (const [index, account] of accounts.entries()) {
    for (const other of [...accounts.slice(index + 1), opening]) {
      const overlap = overlapOf(account, other) ?? overlapOf(other, account);
      if (overlap === null) continue;
      const [role] = other === opening ? account : other;
      throw new LedgerError('settings', `the accounts of the books overlap: ${overlap}`, {
        cure: `give each role an account of its own, such as with \`update ledger.accounts set name = '…' where role = '${role}'\`; docs/accounting.md has the names at first`,
      });
    }
  }
}

/** Compares without regard to case, because journals for beancount capitalise the levels of a name. */
function overlapOf([role, name]: Account, [otherRole, otherName]: Account): string | null {
  const [own, other] = [name.toLowerCase(), otherName.toLowerCase()];
  if (own === other)
    return `the roles ${role} and ${otherRole} have one account, ${JSON.stringify(name)}`;
  if (!rolesOfSubaccounts.includes(role) || !other.startsWith(`${own}:`)) return null;
  return `the account of ${otherRole}, ${JSON.stringify(otherName)}, is a sub-account of that of ${role}, ${JSON.stringify(name)}`;
}
