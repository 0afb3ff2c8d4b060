//! Steps and exhibits of each publication.

use crate::claims::Quantities;
use crate::{
    Exhibit, Paper, Records, Site, Step, blog, claims, li2007, lmbench, michigan, mogul1990, today,
};

impl Paper {
    /// Returns the steps of the publication, in the order in which they are to be run.
    pub fn steps(self, site: &Site<'_>) -> Vec<Step> {
        match self {
            Paper::Li2007 => li2007::steps(site),
            Paper::Michigan => michigan::steps(site),
            Paper::Blog => blog::steps(site),
            Paper::Lmbench => lmbench::steps(site),
            Paper::Mogul1990 => mogul1990::steps(site),
            Paper::Today => today::steps(site),
        }
    }

    /// Returns the publication's figures and tables with the results in `records`, and the verdicts
    /// on its claims.
    pub fn exhibits(self, records: &Records) -> Vec<Exhibit> {
        let mut exhibits = self.tables_and_figures(records);
        let quantities = self.quantities();
        let variants = match self {
            Paper::Mogul1990 => mogul1990::variants(records),
            _ => Ok(Vec::new()),
        };
        let judge = |exhibit: &mut Exhibit| {
            exhibit.claims = claims::judge(self, &exhibit.name, &quantities, records, &variants)
        };
        exhibits.iter_mut().for_each(judge);
        exhibits
    }

    pub(crate) fn quantities(self) -> Quantities {
        match self {
            Paper::Li2007 => li2007::quantities(),
            Paper::Michigan => michigan::quantities(),
            Paper::Blog => blog::quantities(),
            Paper::Lmbench => Vec::new(),
            Paper::Mogul1990 => mogul1990::quantities(),
            Paper::Today => today::quantities(),
        }
    }

    fn tables_and_figures(self, records: &Records) -> Vec<Exhibit> {
        match self {
            Paper::Li2007 => li2007::exhibits(records),
            Paper::Michigan => michigan::exhibits(records),
            Paper::Blog => blog::exhibits(records),
            Paper::Lmbench => lmbench::exhibits(records),
            Paper::Mogul1990 => mogul1990::exhibits(records),
            Paper::Today => today::exhibits(records),
        }
    }
}
