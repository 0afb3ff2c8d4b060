//! Divides a sequence of points into straight pieces, as few as the points allow.

/// Largest number of straight pieces: one each for small, rising and large sizes, and one more for
/// a machine with a third cache level.
const MOST_PIECES: usize = 4;
/// Least number of points in a piece. Two points always lie on a line, so a third is necessary.
const FEWEST_POINTS: usize = 3;
/// Largest distance of a point from a line, in standard errors, at which the point counts as on the
/// line.
const ON_THE_LINE: f64 = 2.0;

/// A point of a curve, with the standard error of its height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) sigma: f64,
}

/// Returns the index of the last point of each piece except the last piece; empty if a single line
/// fits.
///
/// The method is piecewise linear least squares by dynamic programming (Bellman 1961, "On the
/// approximation of curves by line segments using dynamic programming"). The pieces need not join,
/// because a cost may jump between two sizes. The number of pieces minimizes Schwarz's criterion
/// (1978, "Estimating the dimension of a model") with known errors: the weighted sum of squares
/// plus ln n for each of the parameters, which are two coefficients per piece, and each cut.
pub(crate) fn cuts(points: &[Point]) -> Vec<usize> {
    let n = points.len();
    let tables = best_tables(points);
    let criterion = |pieces: usize| {
        let parameters = 3 * pieces - 1;
        tables[pieces - 1][n].cost + parameters as f64 * (n as f64).ln()
    };
    let most = (n / FEWEST_POINTS).clamp(1, MOST_PIECES);
    let pieces = (1..=most)
        .min_by(|a, b| criterion(*a).total_cmp(&criterion(*b)))
        .unwrap_or(1);
    move_behind(points, trace_back(&tables, pieces, n))
}

/// Moves each cut to a later point as long as the first point of the next piece lies on the line of
/// the piece before. Without this step, a short next piece may begin too early.
fn move_behind(points: &[Point], mut cuts: Vec<usize>) -> Vec<usize> {
    let sums = Sums::sum(points);
    let mut start = 0;
    for index in 0..cuts.len() {
        let next = cuts.get(index + 1).copied().unwrap_or(points.len() - 1);
        let goes_on = |cut: usize| {
            let above = sums.above_line(start, cut + 1, &points[cut + 1]) / points[cut + 1].sigma;
            cut + 1 < next && above.abs() <= ON_THE_LINE
        };
        while goes_on(cuts[index]) {
            cuts[index] += 1;
        }
        start = cuts[index] + 1;
    }
    cuts
}

/// Best division of the first points of a curve into a given number of pieces.
#[derive(Clone, Copy, Debug)]
struct Best {
    cost: f64,
    /// Number of points before the last piece of the division.
    before: usize,
}

/// Returns tables of the best divisions. `tables[m][j]` is the best division of the first j points
/// into m + 1 pieces.
fn best_tables(points: &[Point]) -> Vec<Vec<Best>> {
    let n = points.len();
    let sums = Sums::sum(points);
    let impossible = Best {
        cost: f64::INFINITY,
        before: 0,
    };
    let one = (0..=n)
        .map(|end| Best {
            cost: sums.cost(0, end),
            before: 0,
        })
        .collect();
    let mut tables: Vec<Vec<Best>> = vec![one];
    while tables.len() < MOST_PIECES {
        let fewer = &tables[tables.len() - 1];
        let extend = |end: usize| {
            let starts = FEWEST_POINTS..(end + 1).saturating_sub(FEWEST_POINTS);
            let ways = starts.map(|start| Best {
                cost: fewer[start].cost + sums.cost(start, end),
                before: start,
            });
            ways.min_by(|a, b| a.cost.total_cmp(&b.cost))
                .unwrap_or(impossible)
        };
        let table = (0..=n).map(extend).collect();
        tables.push(table);
    }
    tables
}

fn trace_back(tables: &[Vec<Best>], pieces: usize, n: usize) -> Vec<usize> {
    let mut end = n;
    let mut cuts = Vec::new();
    for table in tables[1..pieces].iter().rev() {
        end = table[end].before;
        cuts.push(end - 1);
    }
    cuts.reverse();
    cuts
}

/// Prefix sums of the points about their centre, from which the best line through any range of
/// points is computed.
struct Sums {
    centre: (f64, f64),
    sums: Vec<[f64; 6]>,
}

/// Best line through a range of points: centre, slope, and weighted sum of squares about the line.
struct Line {
    x: f64,
    y: f64,
    slope: f64,
    squares: f64,
}

impl Sums {
    fn sum(points: &[Point]) -> Sums {
        let centre = |values: &dyn Fn(&Point) -> f64| {
            points.iter().map(values).sum::<f64>() / points.len().max(1) as f64
        };
        let (x0, y0) = (centre(&|point| point.x), centre(&|point| point.y));
        let mut sums = vec![[0.0; 6]];
        let mut last = [0.0; 6];
        for point in points {
            let (x, y, w) = (point.x - x0, point.y - y0, point.sigma.powi(-2));
            let terms = [w, w * x, w * y, w * x * x, w * x * y, w * y * y];
            last.iter_mut()
                .zip(terms)
                .for_each(|(sum, term)| *sum += term);
            sums.push(last);
        }
        Sums {
            centre: (x0, y0),
            sums,
        }
    }

    /// Returns the best line through the points from `start` to before `end`, which must be at
    /// least two.
    fn line(&self, start: usize, end: usize) -> Line {
        let [w, wx, wy, wxx, wxy, wyy] =
            std::array::from_fn(|i| self.sums[end][i] - self.sums[start][i]);
        let (sxx, sxy, syy) = (wxx - wx * wx / w, wxy - wx * wy / w, wyy - wy * wy / w);
        Line {
            x: wx / w,
            y: wy / w,
            slope: sxy / sxx,
            squares: (syy - sxy * sxy / sxx).max(0.0),
        }
    }

    /// Returns the height of `point` above the best line through the points from `start` to before
    /// `end`.
    fn above_line(&self, start: usize, end: usize, point: &Point) -> f64 {
        let line = self.line(start, end);
        point.y - self.centre.1 - line.y - line.slope * (point.x - self.centre.0 - line.x)
    }

    /// Returns the weighted sum of squares about the best line through the points from `start` to
    /// before `end`; infinite if there are fewer than [`FEWEST_POINTS`].
    fn cost(&self, start: usize, end: usize) -> f64 {
        if end < start + FEWEST_POINTS {
            return f64::INFINITY;
        }
        self.line(start, end).squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_within;

    fn points(heights: &[f64], sigma: f64) -> Vec<Point> {
        let point = |(x, y): (f64, &f64)| Point { x, y: *y, sigma };
        (0_u32..).map(f64::from).zip(heights).map(point).collect()
    }

    #[test]
    fn heights_are_cut_where_they_step_or_bend() {
        let line: Vec<f64> = (0..12).map(|x| 3.0 + 0.5 * f64::from(x)).collect();
        let steps = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.5, 3.5, 3.5];
        let rows: [(&str, &[f64], &[usize]); 9] = [
            ("a line", &line, &[]),
            ("a flat line", &[1.0, 1.0, 1.0, 1.0], &[]),
            ("too few for two pieces", &[1.0, 1.0, 5.0, 5.0, 5.0], &[]),
            ("a step", &[0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0], &[3]),
            ("steps", &steps, &[2, 5, 8]),
            (
                "the point of a bend",
                &[0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0],
                &[3],
            ),
            (
                "a rise of one point",
                &[0.0, 0.0, 0.0, 0.0, 2.5, 4.0, 4.1],
                &[3],
            ),
            // 8 MiB, the last size, costs more than 2 and 4 MiB. The knee was once before 4 MiB.
            ("a rise of the last", &[0.0, 0.0, 0.0, 0.0, 0.0, 2.0], &[4]),
            (
                "a rise of the last two",
                &[0.0, 0.0, 0.0, 0.0, 2.0, 2.1],
                &[3],
            ),
        ];
        for (name, heights, expected) in rows {
            assert_eq!(cuts(&points(heights, 0.05)), expected, "{name}");
        }
    }

    #[test]
    fn the_best_cuts_are_those_of_all_ways() {
        let heights = [0.3, 0.1, 0.9, 1.4, 1.1, 3.0, 2.2, 2.9, 2.5, 1.7, 1.9];
        let points = points(&heights, 0.2);
        let sums = Sums::sum(&points);
        let mut best = f64::INFINITY;
        for a in 3..=5 {
            for b in a + 3..=8 {
                best = best.min(sums.cost(0, a) + sums.cost(a, b) + sums.cost(b, 11));
            }
        }
        let found = best_tables(&points)[2][11].cost;
        assert_within(found, best, 1e-9);
    }
}
