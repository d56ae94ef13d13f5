package report

import (
	"encoding/json"
	"io"

	"github.com/corewait/corewait/domain"
)

// JSON writes one document: the finding, or a set where there are several. The
// contract is corewait/analysis/v1 and corewait/analysis-set/v1.
func JSON(w io.Writer, findings []*domain.Finding) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if len(findings) == 1 {
		return e.Encode(findings[0])
	}
	return e.Encode(domain.AnalysisSet{Schema: domain.AnalysisSetSchema, Documents: findings})
}
